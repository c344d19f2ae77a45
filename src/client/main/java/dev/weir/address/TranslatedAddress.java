package dev.weir.address;

import java.net.InetAddress;
import java.util.Arrays;
import java.util.Optional;

/** Finds the host of an IPv6 address that contains an IPv4 address. */
// Only what a caller cannot choose is used:
//
//   64:ff9b::/96     RFC 6052   the last 32 bits are the IPv4 address. The range is routed to the translator, which
//                               writes the address from which it has received the packet. It must not translate
//                               addresses that are not global, so one that is private has another source and is not
//                               used.
//   64:ff9b:1::/48   RFC 8215   the same for local use, also of private addresses. Where they are depends on the length
//                               of the prefix that the network has chosen. Only a prefix of 96 bits with zeros before
//                               the IPv4 address, the usual one, is recognized; other addresses are counted by their
//                               range.
//   2002::/16        RFC 3056   (6to4) bits 16 to 47 are the IPv4 address of a site, which chooses the other 80 bits.
//                               So at most 48 bits count. They do not become the IPv4 address: relays accept packets
//                               whose IPv4 source is another one, with which the limit of that host could be used up.
//   2001::/32        RFC 4380   (Teredo) the client chooses its server, and with it bits 32 to 63. It is counted by its
//                               range like any other.
//   ::ffff:0:0/96    RFC 4291   (IPv4-mapped) Java reads it as the IPv4 address.
final class TranslatedAddress {

    private static final byte[] GLOBAL_NAT64 = bytes(0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0);
    private static final byte[] LOCAL_NAT64 = bytes(0x00, 0x64, 0xff, 0x9b, 0x00, 0x01);
    private static final byte[] SIX_TO_FOUR = bytes(0x20, 0x02);
    private static final byte[] ZEROS = new byte[4];

    private static final int SITE_BITS = 48;
    private static final int IPV4_FROM = 12;
    private static final int IPV6_BYTES = 16;
    private static final int BYTE = 0xff;

    private TranslatedAddress() {}

    /**
     * Returns the IPv4 address of a caller that a translator has forwarded.
     *
     * @param ipv6 the bytes of its IPv6 address
     * @return empty if the address is not of a translator
     */
    static Optional<InetAddress> ipv4(byte[] ipv6) {
        boolean isGlobal = startsWith(ipv6, GLOBAL_NAT64);
        boolean isLocal = startsWith(ipv6, LOCAL_NAT64)
                && Arrays.equals(ipv6, IPV4_FROM - ZEROS.length, IPV4_FROM, ZEROS, 0, ZEROS.length);
        if (!isGlobal && !isLocal) {
            return Optional.empty();
        }
        byte[] ipv4 = Arrays.copyOfRange(ipv6, IPV4_FROM, IPV6_BYTES);
        return Optional.of(IpAddresses.of(ipv4))
                .filter(address -> isHost(address, ipv4) && (isLocal || !isPrivate(address, ipv4)));
    }

    /** Returns how many bits of the address a host cannot choose, at most. */
    static int maxPrefixLength(byte[] ipv6) {
        return startsWith(ipv6, SIX_TO_FOUR) ? SITE_BITS : IpAddresses.IPV6_BITS;
    }

    /** Returns whether the address is that of one host: not of 0.0.0.0/8, loopback, multicast or reserved. */
    private static boolean isHost(InetAddress address, byte[] ipv4) {
        int first = ipv4[0] & BYTE;
        return first != 0 && first < 240 && !address.isLoopbackAddress() && !address.isMulticastAddress();
    }

    /** Returns whether the address is private (RFC 1918), link-local (RFC 3927), or of a carrier (RFC 6598). */
    private static boolean isPrivate(InetAddress address, byte[] ipv4) {
        boolean isCarrier = (ipv4[0] & BYTE) == 100 && (ipv4[1] & 0xc0) == 64;
        return address.isSiteLocalAddress() || address.isLinkLocalAddress() || isCarrier;
    }

    private static boolean startsWith(byte[] address, byte[] prefix) {
        return Arrays.equals(address, 0, prefix.length, prefix, 0, prefix.length);
    }

    private static byte[] bytes(int... values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return bytes;
    }
}
