package dev.weir.topology;

import dev.weir.decision.PolicyState;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.storage.CacheBudget;
import dev.weir.storage.WriteBackStore;
import dev.weir.storage.WriteBackStoreBuilder;
import java.util.Map;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;

/** The stores' names (persisted: they name the changelog topics) and what they are made of. */
public final class Stores {

    /** What each key has used of each policy: {@code KeyCodec} to {@code StateCodec}. */
    public static final String POLICY_STATES = "policy-states";

    /** The full segments of sliding logs. */
    public static final String LOG_SEGMENTS = "log-segments";

    /**
     * The first answers to requests that may be repeated, and their notes: {@code KeyCodec} to {@code
     * IdempotentAnswerCodec}.
     */
    public static final String FIRST_ANSWERS = "first-answers";

    /**
     * Each queue's rules, and the state of each bucket: {@code QueueKeys} to {@code QueueCodec} and {@code
     * BucketCodec}.
     */
    public static final String QUEUE_STATES = "queue-states";

    /** What waits in the queues: {@code QueueKeys} to {@code QueueCodec}, as the next three. */
    public static final String QUEUE_SLOTS = "queue-slots";

    /** Where the request of a client's id waits. */
    public static final String QUEUE_TICKETS = "queue-tickets";

    /** Where requests wait that may expire out of order. */
    public static final String QUEUE_ALARMS = "queue-alarms";

    /** When buckets are due that are not on the heap. */
    public static final String QUEUE_TIMERS = "queue-timers";

    /** What the queues first answered to requests that may be repeated: as {@link #FIRST_ANSWERS}. */
    public static final String QUEUE_FIRST_ANSWERS = "queue-first-answers";

    /** What the task holds of shared quota: {@code KeyCodec} to {@code LeaseCodec}. */
    public static final String LEASE_BOOKS = "lease-books";

    /** The requests that wait for shared quota, by the order in which they came: {@code WaiterCodec}. */
    public static final String WAITING_REQUESTS = "waiting-requests";

    /** The position of the last decision of a task: {@code DecisionSequence}. */
    public static final String DECISION_ORDER = "decision-order";

    /** What is used and lent of shared quota: {@code KeyCodec} to {@code LeaseCodec}. */
    public static final String LEDGERS = "ledgers";

    /** The full segments of the ledgers' sliding logs. */
    public static final String LEDGER_SEGMENTS = "ledger-segments";

    /** The policies topic, in memory, on every instance. */
    public static final String POLICIES = "policies";

    /** The last good value of each key of the policies topic. */
    public static final String GOOD_POLICIES = "good-policies";

    /**
     * Small segments, so that a compacted changelog stays near the size of the state and restores fast. Its records
     * have the requests' times, and a time far ahead must not be refused here once it was taken there; nor must a large
     * request that waits.
     */
    private static final Map<String, String> CHANGELOG = Map.of(
            TopicConfig.CLEANUP_POLICY_CONFIG,
            TopicConfig.CLEANUP_POLICY_COMPACT,
            TopicConfig.SEGMENT_BYTES_CONFIG,
            String.valueOf(32 << 20),
            TopicConfig.MIN_CLEANABLE_DIRTY_RATIO_CONFIG,
            "0.2",
            TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG,
            String.valueOf(Long.MAX_VALUE),
            TopicConfig.MAX_MESSAGE_BYTES_CONFIG,
            String.valueOf(3 << 20));

    private Stores() {}

    static StoreBuilder<KeyValueStore<String, byte[]>> policies() {
        return org.apache.kafka.streams.state.Stores.keyValueStoreBuilder(
                        org.apache.kafka.streams.state.Stores.inMemoryKeyValueStore(POLICIES),
                        Serdes.String(),
                        Serdes.ByteArray())
                .withLoggingDisabled();
    }

    static StoreBuilder<WriteBackStore<StateKey, PolicyState>> policyStates(CacheBudget memory) {
        return new WriteBackStoreBuilder<>(persistent(POLICY_STATES), memory);
    }

    static StoreBuilder<WriteBackStore<StateKey, LeaseBook>> leaseBooks(CacheBudget memory) {
        return new WriteBackStoreBuilder<>(persistent(LEASE_BOOKS), memory);
    }

    static StoreBuilder<KeyValueStore<Bytes, byte[]>> persistent(String name) {
        return org.apache.kafka.streams.state.Stores.keyValueStoreBuilder(
                        org.apache.kafka.streams.state.Stores.persistentKeyValueStore(name),
                        Serdes.Bytes(),
                        Serdes.ByteArray())
                .withCachingDisabled()
                .withLoggingEnabled(CHANGELOG);
    }
}
