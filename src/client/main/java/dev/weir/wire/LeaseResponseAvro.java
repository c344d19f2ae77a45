package dev.weir.wire;

import dev.weir.lease.LeaseResponse;
import java.time.Instant;

/** The Avro codec of responses of ledgers to lease holders. Thread-safe. */
public final class LeaseResponseAvro {

    private final AvroBytes<dev.weir.avro.LeaseResponse> avro = new AvroBytes<>(new dev.weir.avro.LeaseResponse(), 0);

    /**
     * A response and its addressee.
     *
     * @param response the response
     * @param holder the name of the holder that requested the lease
     * @param partition the partition of the topic of lease responses in which the holder reads it
     */
    public record Addressed(LeaseResponse response, String holder, int partition) {}

    /** Creates a codec. */
    public LeaseResponseAvro() {}

    /**
     * Encodes a response in single-object encoding.
     *
     * @param message the response
     * @return the value of a record
     */
    public byte[] encode(Addressed message) {
        return avro.encode(
                message.response instanceof LeaseResponse.Granted lease
                        ? new dev.weir.avro.LeaseResponse(
                                message.holder,
                                lease.number(),
                                Instant.ofEpochMilli(lease.appendedAtMs()),
                                Instant.ofEpochMilli(lease.fromMs()),
                                lease.leaseId(),
                                lease.amount(),
                                Instant.ofEpochMilli(lease.untilMs()),
                                0L,
                                lease.isLast())
                        : refused(message.holder, (LeaseResponse.Refused) message.response));
    }

    private static dev.weir.avro.LeaseResponse refused(String holder, LeaseResponse.Refused refused) {
        Instant at = Instant.ofEpochMilli(refused.appendedAtMs());
        return new dev.weir.avro.LeaseResponse(
                holder,
                refused.number(),
                at,
                Instant.EPOCH,
                null,
                0L,
                Instant.EPOCH,
                refused.retryAfterMs(),
                !refused.isLent());
    }

    /**
     * Decodes a response.
     *
     * @param value the value of a record
     * @param partition the partition from which the record was read
     * @return the response
     * @throws UnreadableException if the value is not a response
     */
    public Addressed decode(byte[] value, int partition) throws UnreadableException {
        dev.weir.avro.LeaseResponse event = avro.decode(value);
        long atMs = event.getAt().toEpochMilli();
        LeaseResponse response = event.getLeaseId() == null
                ? new LeaseResponse.Refused(event.getNumber(), atMs, event.getRetryAfterMs(), !event.getLast())
                : new LeaseResponse.Granted(
                        event.getNumber(),
                        event.getLeaseId(),
                        event.getTokens(),
                        atMs,
                        event.getFrom().toEpochMilli(),
                        event.getUntil().toEpochMilli(),
                        event.getLast());
        return new Addressed(response, event.getHolder(), partition);
    }
}
