package dev.weir.codec;

import dev.weir.policy.Rejection;
import dev.weir.shape.Release;
import java.time.Instant;

/** Releases as Avro. Threads may share an instance. */
public final class ReleaseAvro {

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    private final AvroBytes<dev.weir.avro.Release> bytes = new AvroBytes<>(new dev.weir.avro.Release(), 0);

    public byte[] encode(Release release) {
        return bytes.encode(dev.weir.avro.Release.newBuilder()
                .setRequestId(release.requestId())
                .setClient(release.client())
                .setTier(release.tier())
                .setQueue(release.queue())
                .setSequence(release.sequence())
                .setEnqueuedAt(Instant.ofEpochMilli(release.enqueuedAtMs()))
                .setReleaseAt(Instant.ofEpochSecond(
                        release.releaseAtNanos() / NANOS_PER_SECOND, release.releaseAtNanos() % NANOS_PER_SECOND))
                .setWaitMs(release.waitMs())
                .setCost(release.cost())
                .setAttributes(release.attributes())
                .setPayload(AvroBytes.toBuffer(release.payload()))
                .build());
    }

    /** @throws UnreadableException if the bytes are no release */
    public Release decode(byte[] value) throws UnreadableException {
        dev.weir.avro.Release event = bytes.decode(value);
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
