package dev.weir.gateway.envoy.mapping;

import dev.weir.client.Fallback;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.server.decide.RequestDecider;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How descriptors become requests.
 *
 * @param keys which entries of a descriptor are what of the request
 * @param settles whether hits are charged whatever remains, as {@code SETTLE}
 * @param isQuota whether the call is over the limit only if all its descriptors with a quota are
 * @param timeout how long to wait for a decision
 * @param fallback what happens without a decision
 */
public record DescriptorMapping(EntryKeys keys, boolean settles, boolean isQuota, Duration timeout, Fallback fallback) {

    /**
     * The keys of entries. Lists are in order of preference: the first entry with a value counts.
     *
     * @param client the keys of the entry that is the client; without such an entry, the client is the whole descriptor
     * @param tier the keys of the entry that is the tier
     * @param requestId the keys of the entry that identifies the request, which is then an idempotency key
     * @param attributes the key of the entry for each attribute; empty for all entries, under their own keys
     * @param keysAttribute the attribute with the keys of all entries, joined by commas; empty for none
     */
    public record EntryKeys(
            List<String> client,
            List<String> tier,
            List<String> requestId,
            Map<String, String> attributes,
            Optional<String> keysAttribute) {

        /** Copies the lists and the map. */
        public EntryKeys {
            client = List.copyOf(client);
            tier = List.copyOf(tier);
            requestId = List.copyOf(requestId);
            attributes = Map.copyOf(attributes);
        }
    }

    /**
     * The default of {@code keysAttribute}, and of {@code weir policies import-envoy}: imported policies match without a
     * configuration.
     */
    public static final String DEFAULT_KEYS_ATTRIBUTE = "keys";

    /** The shortest timeout. */
    public static final Duration MIN_TIMEOUT = RequestDecider.MIN_TIMEOUT;

    /** The longest timeout. */
    public static final Duration MAX_TIMEOUT = RequestDecider.MAX_TIMEOUT;

    /** The mapping without a configuration. */
    public static final DescriptorMapping DEFAULTS = new DescriptorMapping(
            new EntryKeys(
                    List.of("client", "user_id", "api_key", "remote_address"),
                    List.of("tier"),
                    List.of(),
                    Map.of(),
                    Optional.of(DEFAULT_KEYS_ATTRIBUTE)),
            false,
            false,
            Duration.ofMillis(500),
            Fallback.FAIL_OPEN);

    /**
     * Creates a mapping.
     *
     * @throws IllegalArgumentException if the timeout is out of range
     */
    public DescriptorMapping {
        requireTimeout(timeout);
    }

    /** @throws IllegalArgumentException if the timeout is out of range */
    public static void requireTimeout(Duration timeout) {
        if (timeout.compareTo(MIN_TIMEOUT) < 0 || timeout.compareTo(MAX_TIMEOUT) > 0) {
            throw new IllegalArgumentException("timeout must be " + DurationsAndSizes.duration(MIN_TIMEOUT.toMillis())
                    + " to " + DurationsAndSizes.duration(MAX_TIMEOUT.toMillis()) + ", is "
                    + DurationsAndSizes.duration(timeout.toMillis()));
        }
    }
}
