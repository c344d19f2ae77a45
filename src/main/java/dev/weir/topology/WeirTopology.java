package dev.weir.topology;

import dev.weir.codec.DecisionAvro;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Decision;
import dev.weir.processor.Decide;
import dev.weir.processor.LivePolicies;
import dev.weir.processor.ReadRequests;
import dev.weir.processor.UpdatePolicies;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.TimestampExtractor;

/**
 * The diagram.
 *
 * <pre>
 *   weir.policies ──▶ update-policies ──▶ (policies)
 *                                             ┊
 *   weir.requests ──▶ read-requests ──▶ decide ──▶ weir.decisions
 *                          │              ├── (policy-states)
 *                          │              └── (log-segments)
 *                          └──▶ weir.dead-letters
 * </pre>
 */
public final class WeirTopology {

    private static final String REQUESTS = "requests";
    private static final String READ_REQUESTS = "read-requests";
    private static final String DECIDE = "decide";
    private static final String DECISIONS = "decisions";
    private static final String DEAD_LETTERS = "dead-letters";

    /** A record without a time is as old as can be: it is decided at its client's last charge. */
    private static final TimestampExtractor RECORD_TIME = (record, partitionTime) -> Math.max(0, record.timestamp());

    private static final Deserializer<byte[]> BYTES_IN = new ByteArrayDeserializer();
    private static final Serializer<byte[]> BYTES_OUT = new ByteArraySerializer();

    private WeirTopology() {}

    /** @param policies kept up to date by the topology */
    public static Topology build(WeirConfig config, LivePolicies policies) {
        Topics topics = Topics.of(config.topics().prefix());
        DecisionAvro avro = new DecisionAvro();
        Serializer<Decision> decisionsOut = (topic, decision) -> avro.encode(decision);

        return new Topology()
                .addGlobalStore(
                        Stores.policies(),
                        "policies",
                        new StringDeserializer(),
                        BYTES_IN,
                        topics.policies(),
                        "update-policies",
                        () -> new UpdatePolicies(policies, Stores.POLICIES))
                .addSource(AutoOffsetReset.earliest(), REQUESTS, RECORD_TIME, BYTES_IN, BYTES_IN, topics.requests())
                .addProcessor(
                        READ_REQUESTS,
                        () -> new ReadRequests(config.requests().rules(), DECIDE, DEAD_LETTERS),
                        REQUESTS)
                .addProcessor(
                        DECIDE,
                        () -> new Decide(policies, config.state(), Stores.POLICY_STATES, Stores.LOG_SEGMENTS),
                        READ_REQUESTS)
                .addStateStore(Stores.policyStates(), DECIDE)
                .addStateStore(Stores.logSegments(), DECIDE)
                .addSink(DECISIONS, topics.decisions(), BYTES_OUT, decisionsOut, DECIDE)
                .addSink(DEAD_LETTERS, topics.deadLetters(), BYTES_OUT, BYTES_OUT, READ_REQUESTS);
    }
}
