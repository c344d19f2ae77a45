package dev.weir.codec;

import dev.weir.avro.LeaseGrant;
import dev.weir.lease.Grant;
import java.time.Instant;

/** Answers of ledgers to holders as Avro. Threads may share an instance. */
public final class GrantAvro {

    private final AvroBytes<LeaseGrant> avro = new AvroBytes<>(new LeaseGrant(), 0);

    /**
     * An answer, and whom it is for.
     *
     * @param partition of the topic of grants, in which the holder reads
     */
    public record Addressed(Grant grant, String holder, int partition) {}

    public byte[] encode(Addressed answer) {
        return avro.encode(
                answer.grant instanceof Grant.Slice slice
                        ? new LeaseGrant(
                                answer.holder,
                                Instant.ofEpochMilli(slice.fromMs()),
                                slice.lease(),
                                slice.amount(),
                                Instant.ofEpochMilli(slice.untilMs()),
                                0L)
                        : nothing(answer.holder, (Grant.Nothing) answer.grant));
    }

    private static LeaseGrant nothing(String holder, Grant.Nothing nothing) {
        Instant at = Instant.ofEpochMilli(nothing.atMs());
        return new LeaseGrant(holder, at, null, 0L, Instant.EPOCH, nothing.retryAfterMs());
    }

    /**
     * Reads an answer.
     *
     * @param partition where it was read
     * @throws UnreadableException if the bytes are no answer
     */
    public Addressed decode(byte[] value, int partition) throws UnreadableException {
        LeaseGrant event = avro.decode(value);
        long atMs = event.getAt().toEpochMilli();
        Grant grant = event.getLease() == null
                ? new Grant.Nothing(atMs, event.getRetryAfterMs())
                : new Grant.Slice(
                        event.getLease(),
                        event.getAmount(),
                        atMs,
                        event.getUntil().toEpochMilli());
        return new Addressed(grant, event.getHolder(), partition);
    }
}
