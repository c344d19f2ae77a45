package dev.weir.wire;

import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.JsonFields;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The codec of decisions: Avro or JSON. It reads both, whatever it writes. Thread-safe. */
public final class DecisionCodec {

    /** The fingerprint of the schema version that is written field by field. */
    private static final long SCHEMA = 0x789FB6DC0F433926L;

    private static final Decision.Queueing NOT_SHAPED = new Decision.Queueing(null, null, null);

    private static final List<Outcome> OUTCOMES = Stream.of(dev.weir.avro.Outcome.values())
            .map(outcome -> Outcome.valueOf(outcome.name()))
            .toList();

    private final AvroBytes<dev.weir.avro.Decision> avro;
    private final StringInterner words = new StringInterner();
    private final byte[] header; // null if it writes JSON

    /** Creates a codec for single-object encoding. */
    public DecisionCodec() {
        this(Optional.empty());
    }

    /**
     * Creates a codec that writes single-object encoding and, if there is a registry, also reads Confluent's
     * wire format.
     *
     * @param registry the schema registry; empty for none
     */
    public DecisionCodec(Optional<SchemaRegistry> registry) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.Decision(), registry);
        header = AvroBytes.header(SCHEMA);
    }

    /**
     * Creates a codec that writes a format: JSON, or Avro in single-object encoding or, if there is a registry, in
     * Confluent's wire format. It reads all of them.
     *
     * @param registry the schema registry; empty for none
     * @param topic the topic to which decisions are written
     * @param format the format in which they are written
     * @throws RegistryException if the registry does not respond or rejects the schema
     */
    public DecisionCodec(Optional<SchemaRegistry> registry, String topic, OutputFormat format) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.Decision(), registry);
        header = format == OutputFormat.JSON ? null : avro.header(registry, topic);
    }

    /**
     * Encodes a decision.
     *
     * @param decision the decision
     * @return the value of a record
     */
    public byte[] encode(Decision decision) {
        if (header == null) {
            return DecisionJson.encode(decision);
        }
        Decision.Queueing queueing = decision.queueing() == null ? NOT_SHAPED : decision.queueing();
        BytesEncoder out = BytesEncoder.begin(header);
        out.write(decision.requestId());
        out.write(decision.client());
        out.write(OUTCOMES.indexOf(decision.outcome()));
        out.write(words.bytes(decision.reason().name()));
        out.writeOptional(bytes(decision.policyId()));
        out.writeOptional(decision.policyVersion());
        out.writeOptional(bytes(decision.limitedBy()));
        out.writeOptional(decision.limit());
        out.writeOptional(decision.windowMs());
        out.writeOptional(decision.remaining());
        out.writeOptional(decision.resetAfterMs());
        out.writeOptional(decision.retryAfterMs());
        out.writeOptional(decision.delayMs());
        out.writeOptional(decision.reservedUntilMs());
        out.write(decision.observed());
        out.write(decision.shadowBanned());
        out.write(decision.repeated());
        out.writeOptional(bytes(queueing.queue()));
        out.writeOptional(queueing.position());
        out.writeOptional(queueing.expectedWaitMs());
        out.write(decision.httpStatus());
        out.write(decision.decidedAtMs());
        out.write(decision.source().partition());
        out.write(decision.source().offset());
        DecisionContextAvro.write(decision.context(), out);
        out.write(queueing.key());
        out.writeOptional(bytes(decision.tier()));
        writeWords(decision.observedBy(), out);
        EnforcedLimitsAvro.write(decision.limits(), words, out);
        return out.end();
    }

    private void writeWords(List<String> all, BytesEncoder out) {
        if (!all.isEmpty()) {
            out.write(all.size());
        }
        for (String word : all) {
            out.write(words.bytes(word));
        }
        out.writeEnd();
    }

    private byte[] bytes(String word) {
        return word == null ? null : words.bytes(word);
    }

    /**
     * Decodes a decision of any version.
     *
     * @param value the value of a record
     * @return the decision
     * @throws UnreadableException if the value is not a decision, or its reason is of a later version
     * @throws RegistryException if the registry that has its schema does not respond
     */
    public Decision decode(byte[] value) throws UnreadableException {
        if (JsonFields.areIn(value)) {
            return DecisionJson.decode(value);
        }
        dev.weir.avro.Decision event = avro.decode(value);
        return new Decision(
                new Decision.Identity(
                        event.getRequestId(),
                        event.getClient(),
                        event.getTier(),
                        new Request.Source(event.getSourcePartition(), event.getSourceOffset())),
                new Decision.Status(
                        Outcome.valueOf(event.getOutcome().name()),
                        reason(event.getReason()),
                        event.getHttpStatus(),
                        event.getObserved(),
                        event.getShadowBanned(),
                        event.getRepeated(),
                        event.getObservedBy()),
                new Decision.Timing(
                        event.getDecidedAt().toEpochMilli(),
                        event.getRetryAfterMs(),
                        event.getDelayMs(),
                        AvroBytes.toMs(event.getReservedUntil())),
                new Decision.Explanation(
                        PolicyVersionAvro.read(event.getPolicyId(), event.getPolicyVersion()),
                        new LimitStatus(
                                        event.getLimitedBy(),
                                        event.getLimit(),
                                        event.getWindowMs(),
                                        event.getRemaining(),
                                        event.getResetAfterMs())
                                .orNull(),
                        EnforcedLimitsAvro.read(event.getLimits())),
                event.getQueue() == null
                        ? null
                        : new Decision.Queueing(
                                event.getQueue(), event.getQueueKey(), event.getPosition(), event.getExpectedWaitMs()),
                DecisionContextAvro.read(event.getOrder(), event.getPoliciesChecksum()));
    }

    private static Reason reason(String name) throws UnreadableException {
        try {
            return Reason.valueOf(name);
        } catch (IllegalArgumentException e) {
            throw new UnreadableException(Rejection.UNKNOWN_SCHEMA, "unknown reason, of a later version: " + name);
        }
    }
}
