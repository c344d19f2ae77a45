package dev.weir.wire;

import dev.weir.event.Rejection;
import dev.weir.event.Release;
import java.time.Instant;
import java.util.Optional;

/** The Avro codec of releases. Thread-safe. */
public final class ReleaseAvro {

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    /** The fingerprint of the schema version that is written field by field. */
    private static final long SCHEMA = 0xB4417D5A06C886A6L;

    private final AvroBytes<dev.weir.avro.Release> avro;
    private final byte[] header;

    /** Creates a codec for single-object encoding. */
    public ReleaseAvro() {
        this(Optional.empty());
    }

    /**
     * Creates a codec that writes single-object encoding and, if there is a registry, also reads Confluent's
     * wire format.
     *
     * @param registry the schema registry; empty for none
     */
    public ReleaseAvro(Optional<SchemaRegistry> registry) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.Release(), 1, registry);
        header = AvroBytes.header(SCHEMA);
    }

    /**
     * Creates a codec that, if there is a registry, reads and writes Confluent's wire format.
     *
     * @param registry the schema registry; empty for none
     * @param topic the topic to which releases are written
     * @throws RegistryException if the registry does not respond or rejects the schema
     */
    public ReleaseAvro(Optional<SchemaRegistry> registry, String topic) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.Release(), 1, registry);
        header = avro.header(registry, topic);
    }

    /**
     * Encodes a release.
     *
     * @param release the release
     * @return the value of a record
     */
    public byte[] encode(Release release) {
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
                AvroBytes.toArray(event.getPayload()));
    }
}
