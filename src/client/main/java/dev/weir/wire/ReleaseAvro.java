package dev.weir.wire;

import dev.weir.event.Rejection;
import dev.weir.event.Release;
import java.time.Instant;
import java.util.Optional;

/** Releases as Avro. Threads may share an instance. */
public final class ReleaseAvro {

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    /** The version of the schema that is written field by field. */
    private static final long SCHEMA = 0xB4417D5A06C886A6L;

    private final AvroBytes<dev.weir.avro.Release> avro;
    private final byte[] header;

    /** In single-object encoding. */
    public ReleaseAvro() {
        this(Optional.empty());
    }

    /** Reads what is in Confluent's wire format too, if there is a registry; writes single-object encoding. */
    public ReleaseAvro(Optional<SchemaRegistry> registry) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.Release(), 1, registry);
        header = AvroBytes.header(SCHEMA);
    }

    /**
     * If there is a registry, writes Confluent's wire format too.
     *
     * @param topic where to
     * @throws RegistryException if the registry does not answer, or does not take the schema
     */
    public ReleaseAvro(Optional<SchemaRegistry> registry, String topic) {
        avro = AvroBytes.withRegistry(SCHEMA, new dev.weir.avro.Release(), 1, registry);
        header = avro.header(registry, topic);
    }

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
     * Reads a release of any version.
     *
     * @throws UnreadableException if the bytes are no release
     * @throws RegistryException if the registry that has its schema does not answer
     */
    public Release decode(byte[] value) throws UnreadableException {
        dev.weir.avro.Release event = avro.decode(value);
        Instant releaseAt = event.getReleaseAt();
        if (releaseAt.isBefore(Instant.EPOCH)) { // which Avro does not write as it reads
            throw new UnreadableException(Rejection.NOT_AVRO, "releaseAt is before 1970");
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
