package dev.weir.gateway;

import dev.weir.address.IpAddresses;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** A range of IP addresses: all with the same first bits, such as {@code 10.0.0.0/8} or {@code 2001:db8::/32}. */
final class AddressRange {

    private final byte[] first;
    private final int prefixLength;

    private AddressRange(byte[] first, int prefixLength) {
        this.first = first;
        this.prefixLength = prefixLength;
    }

    /**
     * Returns the range of a text: an address, or an address with the length of the prefix.
     *
     * @throws IllegalArgumentException if the text is neither, or if the address has bits behind the prefix
     */
    static AddressRange parse(String text) {
        int slash = text.indexOf('/');
        Optional<InetAddress> address = IpAddresses.parse(slash < 0 ? text : text.substring(0, slash));
        if (address.isEmpty()) {
            throw wrong(text);
        }
        byte[] bytes = address.get().getAddress();
        int bits = bytes.length * Byte.SIZE;
        String length = slash < 0 ? Integer.toString(bits) : text.substring(slash + 1);
        if (!length.matches("0|[1-9][0-9]{0,2}") || Integer.parseInt(length) > bits) {
            throw wrong(text);
        }
        AddressRange range =
                new AddressRange(IpAddresses.prefix(bytes, Integer.parseInt(length)), Integer.parseInt(length));
        if (!Arrays.equals(range.first, bytes)) {
            throw new IllegalArgumentException(
                    "'" + text + "' has bits behind its prefix; the range that contains it is " + range);
        }
        return range;
    }

    private static IllegalArgumentException wrong(String text) {
        return new IllegalArgumentException(
                "must be an address or a range such as 10.0.0.0/8 or fd00::/8, is '" + text + "'");
    }

    /** Returns whether the range contains an address. An IPv4 address is in no range of IPv6. */
    boolean contains(InetAddress address) {
        byte[] bytes = address.getAddress();
        if (bytes.length != first.length) {
            return false;
        }
        int whole = prefixLength / Byte.SIZE;
        for (int i = 0; i < whole; i++) {
            if (bytes[i] != first[i]) {
                return false;
            }
        }
        int rest = prefixLength % Byte.SIZE;
        return rest == 0 || ((bytes[whole] ^ first[whole]) & 0xff) >>> (Byte.SIZE - rest) == 0;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof AddressRange range
                && range.prefixLength == prefixLength
                && Arrays.equals(range.first, first);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(first) + prefixLength;
    }

    @Override
    public String toString() {
        return (IpAddresses.text(IpAddresses.of(first)) + "/" + prefixLength).toLowerCase(Locale.ROOT);
    }
}
