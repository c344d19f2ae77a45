package dev.weir.wire;

import dev.weir.event.Rejection;
import dev.weir.event.Release;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.json.JsonFields;
import dev.weir.wire.json.ReleaseJson;
import java.time.Instant;
import java.util.Optional;

/** The codec of releases: Avro or JSON. It reads both, whatever it writes. Thread-safe. */
public final class ReleaseCodec {

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    /** The fingerprint of the schema version that is written field by field. */
    private static final long SCHEMA = 0xD4AD5E3F07494BA4L;

    private final AvroBytes<dev.weir.avro.Release> avro;
    private final byte[] header; // null if it writes JSON

    /** Creates a codec for single-object encoding. */
    public ReleaseCodec() {
        this(Optional.empty());
    }

    /**
     * Creates a codec that writes single-object encoding and, if there is a registry, also reads Confluent's
     * wire format.
     *
     * @param registry the schema registry; empty for none
     */
    public ReleaseCodec(Optional<SchemaRegistry> registry) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.Release(), registry);
        header = AvroBytes.header(SCHEMA);
    }

    /**
     * Creates a codec that writes a format: JSON, or Avro in single-object encoding or, if there is a registry, in
     * Confluent's wire format. It reads all of them.
     *
     * @param registry the schema registry; empty for none
     * @param topic the topic to which releases are written
     * @param format the format in which they are written
     * @throws RegistryException if the registry does not respond or rejects the schema
     */
    public ReleaseCodec(Optional<SchemaRegistry> registry, String topic, OutputFormat format) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.Release(), registry);
        header = format == OutputFormat.JSON ? null : avro.header(registry, topic);
    }

    /**
     * Encodes a release.
     *
     * @param release the release
     * @return the value of a record
     */
    public byte[] encode(Release release) {
        if (header == null) {
            return ReleaseJson.encode(release);
        }
        BytesEncoder out = BytesEncoder.begin(header);
        out.write(release.requestId());
        out.write(release.client());
        out.writeOptional(release.tier());
        out.write(release.queue());
        out.write(release.sequence());
        out.write(release.enqueuedAtMs());
        out.write(release.releaseAtNanos());
        out.write(release.waitMs());
        out.write(release.cost());
        out.write(release.attributes());
        out.writeOptional(release.payload());
        out.write(release.key());
        Release.Attempt attempt = release.attempt();
        if (out.writePresent(attempt)) {
            out.write(attempt.number());
            out.write(attempt.receipt());
            out.write(attempt.ackTimeoutMs());
        }
        out.write(release.pace().nanos());
        out.write(release.pace().totalNanos());
        return out.end();
    }

    /**
     * Decodes a release of any version.
     *
     * @param value the value of a record
     * @return the release
     * @throws UnreadableException if the value is not a release
     * @throws RegistryException if the registry that has its schema does not respond
     */
    public Release decode(byte[] value) throws UnreadableException {
        if (JsonFields.areIn(value)) {
            return ReleaseJson.decode(value);
        }
        dev.weir.avro.Release event = avro.decode(value);
        Instant releaseAt = event.getReleaseAt();
        if (releaseAt.isBefore(Instant.EPOCH)) { // Avro's conversion is not symmetric for such times
            throw new UnreadableException(Rejection.NOT_AVRO, "releaseAt must not be before 1970");
        }
        return new Release(
                event.getRequestId(),
                event.getClient(),
                event.getTier(),
                event.getQueue(),
                event.getQueueKey(),
                event.getSequence(),
                event.getEnqueuedAt().toEpochMilli(),
                releaseAt.getEpochSecond() * NANOS_PER_SECOND + releaseAt.getNano(),
                event.getCost(),
                event.getAttributes(),
                AvroBytes.toArray(event.getPayload()),
                attempt(event.getAttempt()),
                new Release.Pace(event.getPaceNanos(), event.getTotalPaceNanos()));
    }

    private static Release.Attempt attempt(dev.weir.avro.Attempt attempt) {
        return attempt == null
                ? null
                : new Release.Attempt(attempt.getNumber(), attempt.getReceipt(), attempt.getAckTimeoutMs());
    }
}
