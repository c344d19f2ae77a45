package dev.weir.wire;

import dev.weir.fault.UnreadableException;
import dev.weir.lease.LeaseResponse;
import java.time.Instant;
import java.util.List;

/** The Avro codec of responses of ledgers to lease holders. Thread-safe. */
public final class LeaseResponseAvro {

    private final AvroBytes<dev.weir.avro.LeaseResponse> avro = new AvroBytes<>(new dev.weir.avro.LeaseResponse());

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
        LeaseResponse response = message.response;
        if (response instanceof LeaseResponse.Granted lease) {
            return avro.encode(new dev.weir.avro.LeaseResponse(
                    message.holder,
                    lease.number(),
                    Instant.ofEpochMilli(lease.appendedAtMs()),
                    Instant.ofEpochMilli(lease.fromMs()),
                    lease.leaseId(),
                    lease.amount(),
                    Instant.ofEpochMilli(lease.untilMs()),
                    false,
                    lease.free(),
                    0L,
                    lease.isLast(),
                    false,
                    List.of()));
        }
        if (response instanceof LeaseResponse.Renewed renewed) {
            return avro.encode(new dev.weir.avro.LeaseResponse(
                    message.holder,
                    renewed.number(),
                    Instant.ofEpochMilli(renewed.appendedAtMs()),
                    Instant.ofEpochMilli(renewed.renewedAtMs()),
                    null,
                    0L,
                    Instant.EPOCH,
                    false,
                    renewed.free(),
                    0L,
                    false,
                    true,
                    renewed.ended()));
        }
        return avro.encode(
                response instanceof LeaseResponse.Checked checked
                        ? withoutLease(message, true, checked.retryAfterMs(), checked.isLent())
                        : withoutLease(
                                message,
                                false,
                                ((LeaseResponse.Refused) response).retryAfterMs(),
                                ((LeaseResponse.Refused) response).isLent()));
    }

    private static dev.weir.avro.LeaseResponse withoutLease(
            Addressed message, boolean checked, long retryAfterMs, boolean isLent) {
        return new dev.weir.avro.LeaseResponse(
                message.holder,
                message.response.number(),
                Instant.ofEpochMilli(message.response.appendedAtMs()),
                Instant.EPOCH,
                null,
                0L,
                Instant.EPOCH,
                checked,
                message.response.free(),
                retryAfterMs,
                !isLent,
                false,
                List.of());
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
        return new Addressed(response(event, atMs), event.getHolder(), partition);
    }

    private static LeaseResponse response(dev.weir.avro.LeaseResponse event, long atMs) {
        long number = event.getNumber();
        long free = event.getFree();
        if (event.getLeaseId() != null) {
            return new LeaseResponse.Granted(
                    number,
                    event.getLeaseId(),
                    event.getTokens(),
                    atMs,
                    event.getFrom().toEpochMilli(),
                    event.getUntil().toEpochMilli(),
                    free);
        }
        if (event.getRenewed()) {
            return new LeaseResponse.Renewed(number, atMs, free, event.getFrom().toEpochMilli(), event.getEnded());
        }
        return event.getChecked()
                ? new LeaseResponse.Checked(number, atMs, free, event.getRetryAfterMs(), !event.getLast())
                : new LeaseResponse.Refused(number, atMs, free, event.getRetryAfterMs(), !event.getLast());
    }
}
