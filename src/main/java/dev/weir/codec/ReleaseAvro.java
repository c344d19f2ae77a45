package dev.weir.codec;

import dev.weir.policy.Rejection;
import dev.weir.shape.Release;
import java.time.Instant;

/** Releases as Avro. Threads may share an instance. */
public final class ReleaseAvro {

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    /** The version of the schema that is written field by field. */
    private static final long SCHEMA = 0x74B08ADFEAC91D06L;

    private final AvroBytes<dev.weir.avro.Release> avro = AvroBytes.besides(SCHEMA, new dev.weir.avro.Release(), 0);

    public byte[] encode(Release release) {
        BytesEncoder out = BytesEncoder.begin(SCHEMA);
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
        return out.end();
    }

    /** @throws UnreadableException if the bytes are no release */
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
                event.getSequence(),
                event.getEnqueuedAt().toEpochMilli(),
                releaseAt.getEpochSecond() * NANOS_PER_SECOND + releaseAt.getNano(),
                event.getCost(),
                event.getAttributes(),
                AvroBytes.toArray(event.getPayload()));
    }
}
