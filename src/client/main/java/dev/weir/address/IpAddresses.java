package dev.weir.address;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Pattern;

/** Parses and formats IP addresses. Host names are not addresses, so nothing is looked up. */
public final class IpAddresses {

    /** The length of an IPv6 address in bits. */
    public static final int IPV6_BITS = 128;

    private static final int IPV4_BYTES = 4;
    private static final int MAX_DIGITS = 3;
    private static final int DECIMAL = 10;
    private static final int GROUPS = 8;
    private static final int BYTE = 0xff;

    private static final Pattern IPV6 = Pattern.compile("(?=.*:.*:)[0-9A-Fa-f:]{2,39}(\\.[0-9.]{1,13})?");

    private IpAddresses() {}

    /**
     * Returns the address with the bytes. An IPv6 address that contains an IPv4 address becomes that.
     *
     * @param bytes 4 bytes for IPv4, 16 bytes for IPv6
     * @return the address
     * @throws IllegalArgumentException if there are neither 4 nor 16 bytes
     */
    public static InetAddress of(byte[] bytes) {
        try {
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(e);
        }
    }

    /**
     * Parses an address without port, brackets and zone.
     *
     * @param text any text
     * @return the address, empty if the text is none
     */
    public static Optional<InetAddress> parse(String text) {
        Optional<InetAddress> ipv4 = parseIpv4(text);
        if (ipv4.isPresent() || !IPV6.matcher(text).matches()) {
            return ipv4;
        }
        try {
            return Optional.of(InetAddress.getByName(text));
        } catch (UnknownHostException e) {
            return Optional.empty();
        }
    }

    /** Parses four decimal numbers without leading zeros, which some programs read as octal. */
    private static Optional<InetAddress> parseIpv4(String text) {
        byte[] bytes = new byte[IPV4_BYTES];
        int start = 0;
        for (int i = 0; i < IPV4_BYTES; i++) {
            int end = i < IPV4_BYTES - 1 ? text.indexOf('.', start) : text.length();
            int value = decimal(text, start, end);
            if (value < 0 || value > BYTE) {
                return Optional.empty();
            }
            bytes[i] = (byte) value;
            start = end + 1;
        }
        return Optional.of(of(bytes));
    }

    /** Returns the number of one to three digits between two indexes, -1 if there is none. */
    private static int decimal(String text, int start, int end) {
        int length = end - start;
        if (length < 1 || length > MAX_DIGITS || (length > 1 && text.charAt(start) == '0')) {
            return -1;
        }
        int value = 0;
        for (int i = start; i < end; i++) {
            char c = text.charAt(i);
            if (c < '0' || c > '9') {
                return -1;
            }
            value = value * DECIMAL + c - '0';
        }
        return value;
    }

    /**
     * Parses an address as proxies write it: with or without a port, and with brackets if it is an IPv6 address with a
     * port.
     *
     * @param text any text
     * @return the address, empty if the text is none
     */
    public static Optional<InetAddress> parseWithPort(String text) {
        if (text.startsWith("[")) {
            int end = text.indexOf(']');
            boolean isClosed = end > 0 && text.substring(end + 1).matches("(:[0-9]{1,5})?");
            return isClosed ? parse(text.substring(1, end)) : Optional.empty();
        }
        int colon = text.indexOf(':');
        boolean hasPort = colon > 0 && text.substring(colon + 1).matches("[0-9]{1,5}");
        return parse(hasPort ? text.substring(0, colon) : text);
    }

    /**
     * Returns a copy of an address in which all bits behind the prefix are 0.
     *
     * @param address the bytes of the address
     * @param length the bits of the prefix, 0 to the bits of the address
     * @return the copy
     */
    public static byte[] prefix(byte[] address, int length) {
        byte[] prefix = address.clone();
        int whole = length / Byte.SIZE;
        if (whole < prefix.length) {
            prefix[whole] &= (byte) (BYTE << (Byte.SIZE - length % Byte.SIZE));
            Arrays.fill(prefix, whole + 1, prefix.length, (byte) 0);
        }
        return prefix;
    }

    /**
     * Returns the address by which a caller is counted. One user often has all IPv6 addresses with the same prefix, so
     * for IPv6 it is the first one of the range.
     *
     * <p>Callers behind IPv4 that reach an IPv6 service through a translator (NAT64) share a prefix, so they are counted
     * by their IPv4 addresses. A host with 6to4 has a prefix of 48 bits, which are counted at most.
     *
     * @param address the address of the caller
     * @param ipv6PrefixLength how many bits of an IPv6 address identify a caller, 1 to 128
     * @return the address, without zone
     */
    public static InetAddress firstOfRange(InetAddress address, int ipv6PrefixLength) {
        if (!(address instanceof Inet6Address)) {
            return address;
        }
        byte[] bytes = address.getAddress();
        return TranslatedAddress.ipv4(bytes).orElseGet(() -> of(prefix(bytes, rangeLength(bytes, ipv6PrefixLength))));
    }

    private static int rangeLength(byte[] ipv6, int ipv6PrefixLength) {
        return Math.min(ipv6PrefixLength, TranslatedAddress.maxPrefixLength(ipv6));
    }

    /**
     * Returns the text by which a caller is counted: that of {@link #firstOfRange}, for IPv6 with the length of the
     * range, such as {@code 2001:db8:0:1::/64}.
     *
     * @param address the address of the caller
     * @param ipv6PrefixLength how many bits of an IPv6 address identify a caller, 1 to 128. With 128, the text is that
     *     of the address
     * @return the text, without zone
     */
    public static String text(InetAddress address, int ipv6PrefixLength) {
        if (!(address instanceof Inet6Address)) {
            return text(address);
        }
        InetAddress first = firstOfRange(address, ipv6PrefixLength);
        int length = rangeLength(address.getAddress(), ipv6PrefixLength);
        return first instanceof Inet6Address && length < IPV6_BITS ? text(first) + "/" + length : text(first);
    }

    /**
     * Returns the text of an address, for IPv6 that of RFC 5952: in lower case, with the longest run of zeros left out.
     *
     * @param address the address
     * @return the text, without zone
     */
    public static String text(InetAddress address) {
        if (!(address instanceof Inet6Address)) {
            return address.getHostAddress();
        }
        byte[] bytes = address.getAddress();
        int[] groups = new int[GROUPS];
        for (int i = 0; i < GROUPS; i++) {
            groups[i] = (bytes[2 * i] & BYTE) << Byte.SIZE | bytes[2 * i + 1] & BYTE;
        }
        int zerosFrom = 0;
        int zeros = 0;
        for (int i = 0; i < GROUPS; i++) {
            int length = 0;
            while (i + length < GROUPS && groups[i + length] == 0) {
                length++;
            }
            if (length > zeros) {
                zerosFrom = i;
                zeros = length;
            }
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < GROUPS; i++) {
            if (zeros > 1 && i == zerosFrom) {
                text.append("::");
                i += zeros - 1;
            } else {
                boolean isFirst = text.isEmpty() || text.charAt(text.length() - 1) == ':';
                text.append(isFirst ? "" : ":").append(Integer.toHexString(groups[i]));
            }
        }
        return text.toString();
    }
}
