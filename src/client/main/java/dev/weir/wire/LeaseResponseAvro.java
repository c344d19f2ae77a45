package dev.weir.wire;

import dev.weir.avro.LeaseGrant;
import dev.weir.lease.LeaseResponse;
import java.time.Instant;

/** Answers of ledgers to holders as Avro. Threads may share an instance. */
public final class LeaseResponseAvro {

    private final AvroBytes<LeaseGrant> avro = new AvroBytes<>(new LeaseGrant(), 2);

    /**
     * An answer, and whom it is for.
     *
     * @param partition of the topic of grants, in which the holder reads
     */
    public record Addressed(LeaseResponse response, String holder, int partition) {}

    public byte[] encode(Addressed answer) {
        return avro.encode(
                answer.response instanceof LeaseResponse.Granted slice
                        ? new LeaseGrant(
                                answer.holder,
                                slice.number(),
                                Instant.ofEpochMilli(slice.appendedAtMs()),
                                Instant.ofEpochMilli(slice.fromMs()),
                                slice.leaseId(),
                                slice.amount(),
                                Instant.ofEpochMilli(slice.untilMs()),
                                0L,
                                slice.isLast())
                        : refused(answer.holder, (LeaseResponse.Refused) answer.response));
    }

    private static LeaseGrant refused(String holder, LeaseResponse.Refused refused) {
        Instant at = Instant.ofEpochMilli(refused.appendedAtMs());
        return new LeaseGrant(
                holder, refused.number(), at, Instant.EPOCH, null, 0L, Instant.EPOCH, refused.retryAfterMs(), false);
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
        LeaseResponse response = event.getLease() == null
                ? new LeaseResponse.Refused(event.getNumber(), atMs, event.getRetryAfterMs())
                : new LeaseResponse.Granted(
                        event.getNumber(),
                        event.getLease(),
                        event.getAmount(),
                        atMs,
                        event.getFrom().toEpochMilli(),
                        event.getUntil().toEpochMilli(),
                        event.getLast());
        return new Addressed(response, event.getHolder(), partition);
    }
}
