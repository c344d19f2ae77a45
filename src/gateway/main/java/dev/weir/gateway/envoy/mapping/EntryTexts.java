package dev.weir.gateway.envoy.mapping;

import dev.weir.address.IpAddresses;
import dev.weir.policy.RequestRules;
import java.util.List;

/**
 * The texts of requests that are made of those of descriptors. They are shortened if they would be too long, since an
 * invalid request would let all descriptors of its call pass: by default, Envoy allows calls that fail.
 *
 * @param maxAttributeLength the longest name or value of an attribute, in code points, at least 1
 * @param ipv6PrefixLength how many bits of an IPv6 address identify a client, 1 to 128
 */
public record EntryTexts(int maxAttributeLength, int ipv6PrefixLength) {

    /** The texts without a configuration. */
    public static final EntryTexts DEFAULTS = new EntryTexts(1024, 64);

    /** The key of an entry with the address of the client. */
    private static final String REMOTE_ADDRESS = "remote_address";

    /** The name of an attribute can have a number behind its key. */
    private static final int NUMBER_LENGTH = 8;

    /** Returns the key of an entry as the name of an attribute. */
    String attributeName(String key) {
        return shortened(key, Math.max(1, maxAttributeLength - NUMBER_LENGTH));
    }

    /** Returns a value as that of an attribute. */
    String attributeValue(String value) {
        return shortened(value, maxAttributeLength);
    }

    /**
     * Returns the entries with the address of the client as by {@link IpAddresses#text}: for IPv6, that of its range.
     * One user often has all addresses of a range, and must not get a new limit with each of them.
     */
    List<DescriptorEntry> counted(List<DescriptorEntry> entries) {
        for (DescriptorEntry entry : entries) {
            if (canBeIpv6(entry)) {
                return entries.stream().map(this::counted).toList();
            }
        }
        return entries;
    }

    private DescriptorEntry counted(DescriptorEntry entry) {
        return canBeIpv6(entry)
                ? IpAddresses.parseWithPort(entry.value())
                        .map(address -> new DescriptorEntry(entry.key(), IpAddresses.text(address, ipv6PrefixLength)))
                        .orElse(entry)
                : entry;
    }

    private static boolean canBeIpv6(DescriptorEntry entry) {
        return entry.key().equals(REMOTE_ADDRESS) && entry.value().indexOf(':') >= 0;
    }

    /** Returns a value as a client, a tier or a request id. */
    static String name(String value) {
        return shortened(value, RequestRules.MAX_NAME_LENGTH);
    }

    private static String shortened(String text, int maxLength) {
        if (maxLength >= ShortenedText.MIN_LENGTH) {
            return ShortenedText.of(text, maxLength);
        }
        return text.codePointCount(0, text.length()) <= maxLength
                ? text
                : text.substring(0, text.offsetByCodePoints(0, maxLength));
    }
}
