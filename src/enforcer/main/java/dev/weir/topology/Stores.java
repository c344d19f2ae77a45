package dev.weir.topology;

import dev.weir.decision.state.PolicyState;
import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.storage.CacheBudget;
import dev.weir.storage.WriteBackStore;
import dev.weir.storage.WriteBackStoreBuilder;
import dev.weir.storage.codec.ReservationEntry;
import java.util.Map;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * The names and builders of the stores. The names are persistent, as they are part of the names of changelog topics.
 * The comments name the encodings of keys and values.
 */
public final class Stores {

    /** The usage of each policy by key: {@code KeyCodec} to {@code StateCodec}. */
    public static final String POLICY_STATES = "policy-states";

    /** The full segments of sliding-window logs. */
    public static final String LOG_SEGMENTS = "log-segments";

    /**
     * The idempotency cache, with the first decision for each idempotency key: {@code KeyCodec}
     * to {@code IdempotentAnswerCodec}.
     */
    public static final String IDEMPOTENCY = "idempotency";

    /** The reservations, and in which order they end: {@code ReservationCodec}. */
    public static final String RESERVATIONS = "reservations";

    /**
     * The rules of each queue, the state of each bucket and the commands of operators: {@code QueueKeys} to {@code QueueCodec}
     * and {@code BucketCodec}.
     */
    public static final String QUEUE_STATES = "queue-states";

    /** The requests that wait in queues: {@code QueueKeys} to {@code QueueCodec}, as for the next four stores. */
    public static final String QUEUE_ENTRIES = "queue-entries";

    /** The place of each waiting request by client and request id. */
    public static final String QUEUE_TICKETS = "queue-tickets";

    /** The expiry timers of requests that can expire before others ahead of them. */
    public static final String QUEUE_EXPIRY_TIMERS = "queue-expiry-timers";

    /** The due times of buckets that are not on the heap. */
    public static final String QUEUE_TIMERS = "queue-timers";

    /** The requests that wait in queues for their time. */
    public static final String QUEUE_SCHEDULE = "queue-schedule";

    /** The idempotency cache of the queues, encoded like {@link #IDEMPOTENCY}. */
    public static final String QUEUE_IDEMPOTENCY = "queue-idempotency";

    /** The leases of the task: {@code KeyCodec} to {@code LeaseCodec}. */
    public static final String LEASE_BOOKS = "lease-books";

    /** The requests that wait for a lease, in order of arrival: {@code WaiterCodec}. */
    public static final String WAITING_REQUESTS = "waiting-requests";

    /** The position of the last decision of a task: {@code DecisionSequence}. */
    public static final String DECISION_ORDER = "decision-order";

    /** The ledgers of shared limits, with usage and outstanding leases: {@code KeyCodec} to {@code LeaseCodec}. */
    public static final String LEDGERS = "ledgers";

    /** The full segments of the ledgers' sliding-window logs. */
    public static final String LEDGER_SEGMENTS = "ledger-segments";

    /** The policies topic, in memory on every instance. */
    public static final String POLICIES = "policies";

    /** The last good value of each key of the policies topic. */
    public static final String GOOD_POLICIES = "good-policies";

    /**
     * The settings of changelogs. Segments are small, so that a compacted changelog is not much larger than the state
     * and is restored fast. Records have the timestamps of requests, so timestamps in the future must be accepted if
     * the request topic accepts them. Large waiting requests must be accepted, too.
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

    static StoreBuilder<WriteBackStore<byte[], ReservationEntry>> reservations(CacheBudget memory) {
        return new WriteBackStoreBuilder<>(persistent(RESERVATIONS), memory);
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
