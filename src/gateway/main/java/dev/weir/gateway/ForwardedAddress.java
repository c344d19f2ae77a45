package dev.weir.gateway;

import dev.weir.address.IpAddresses;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;

/**
 * Finds the address of a client behind proxies.
 *
 * <p>Each proxy appends the address of its caller to {@code X-Forwarded-For}. Only what trusted proxies have appended
 * is true, so the addresses are read from the right, and the first one that is not a trusted proxy is the client:
 *
 * <pre>
 *   peer 127.0.0.1, X-Forwarded-For: 1.1.1.1, 198.51.100.7, 10.0.0.2      trusted: 127.0.0.0/8, 10.0.0.0/8
 *   127.0.0.1 is trusted, 10.0.0.2 is trusted, 198.51.100.7 is the client; it may have invented 1.1.1.1
 * </pre>
 *
 * @param trusted the addresses of trusted proxies
 * @param ipv6PrefixLength how many bits of an IPv6 address identify a client, 1 to 128
 */
record ForwardedAddress(List<AddressRange> trusted, int ipv6PrefixLength) {

    ForwardedAddress {
        trusted = List.copyOf(trusted);
    }

    boolean isTrusted(InetAddress address) {
        for (AddressRange range : trusted) {
            if (range.contains(address)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the address of a client. If all addresses are trusted, it is the leftmost one. An entry that is not an
     * address ends the search: then it is the address of the proxy that appended it.
     *
     * @param peer the address from which the call came
     * @param forwardedFor the values of all {@code X-Forwarded-For} headers, in their order
     */
    InetAddress client(InetAddress peer, List<String> forwardedFor) {
        InetAddress client = peer;
        for (int i = forwardedFor.size() - 1; i >= 0; i--) {
            String[] hops = forwardedFor.get(i).split(",", -1);
            for (int j = hops.length - 1; j >= 0; j--) {
                if (!isTrusted(client)) {
                    return client;
                }
                Optional<InetAddress> hop = IpAddresses.parseWithPort(hops[j].strip());
                if (hop.isEmpty()) {
                    return client;
                }
                client = hop.get();
            }
        }
        return client;
    }

    /**
     * Returns the text by which a client is counted: for IPv6, that of its range, such as {@code 2001:db8:0:1::/64}.
     */
    String text(InetAddress address) {
        return IpAddresses.text(address, ipv6PrefixLength);
    }
}
