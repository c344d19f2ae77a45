package dev.weir.envoy;

import dev.weir.fault.Fault;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A descriptor of a configuration of envoyproxy/ratelimit: a rule for one entry of the descriptors of a request, with
 * the rules for the next entry. The root of a domain has rules for the first entry and matches nothing itself.
 */
final class EnvoyDescriptor {

    /**
     * The limit of a descriptor.
     *
     * @param requests requests for each unit, 0 to 2^32 - 1
     * @param unit the unit; empty if the limit is unlimited
     * @param name the name; empty if it has none
     * @param shadow whether requests beyond the limit are only counted
     */
    record Limit(long requests, Optional<EnvoyUnit> unit, String name, boolean shadow) {}

    /**
     * The place of a descriptor.
     *
     * @param file the name of the file
     * @param line the line, from 1
     * @param path the path in the file
     */
    record Place(String file, int line, String path) {
        Fault fault(String message) {
            return new Fault(file, line, path, message);
        }
    }

    private final Place place;
    private final String key;
    private final String value;
    private final Optional<Limit> limit;
    private final boolean shareThreshold;
    private final Map<String, SiblingDescriptors> next = new LinkedHashMap<>();
    private final Set<String> compositeKeys = new HashSet<>();

    /**
     * Creates a descriptor without rules for the next entry.
     *
     * @param value the value, in which each {@code *} matches any characters; empty for any value
     */
    EnvoyDescriptor(Place place, String key, String value, Optional<Limit> limit, boolean shareThreshold) {
        this.place = place;
        this.key = key;
        this.value = value;
        this.limit = limit;
        this.shareThreshold = shareThreshold;
    }

    /** Creates the root of a domain. */
    static EnvoyDescriptor root(String domain) {
        return new EnvoyDescriptor(new Place("", 1, ""), domain, "", Optional.empty(), false);
    }

    Place place() {
        return place;
    }

    /** Returns the key of the entry, or the domain if this is a root. */
    String key() {
        return key;
    }

    String value() {
        return value;
    }

    Optional<Limit> limit() {
        return limit;
    }

    /** Returns whether all values that match the wildcards are counted together. */
    boolean sharesThreshold() {
        return shareThreshold;
    }

    boolean matchesAnyValue() {
        return value.isEmpty();
    }

    boolean hasWildcards() {
        return value.indexOf('*') >= 0;
    }

    /** Returns the key by which envoyproxy/ratelimit looks up a descriptor. */
    String compositeKey() {
        return value.isEmpty() ? key : key + "_" + value;
    }

    /** Returns the rules for the next entry, by its key. */
    Map<String, SiblingDescriptors> next() {
        return next;
    }

    /** Adds a rule for the next entry. Returns false and adds nothing if there is one with its composite key. */
    boolean add(EnvoyDescriptor descriptor) {
        boolean isNew = compositeKeys.add(descriptor.compositeKey());
        if (isNew) {
            next.computeIfAbsent(descriptor.key, k -> new SiblingDescriptors()).add(descriptor);
        }
        return isNew;
    }

    @Override
    public String toString() {
        return compositeKey();
    }
}
