package dev.weir.wire;

import dev.weir.avro.LeaseReport;
import dev.weir.event.Rejection;
import dev.weir.lease.LeaseRequest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** The Avro codec of messages of lease holders to ledgers. Thread-safe. */
public final class LeaseRequestAvro {

    private final AvroBytes<dev.weir.avro.LeaseRequest> avro = new AvroBytes<>(new dev.weir.avro.LeaseRequest(), 1);

    /**
     * A message to a ledger.
     *
     * @param request the message
     * @param partition the partition of the topic of lease responses to which the response is written
     */
    public record Addressed(LeaseRequest request, int partition) {}

    /** Creates a codec. */
    public LeaseRequestAvro() {}

    /**
     * Encodes a message in single-object encoding.
     *
     * @param message the message
     * @return the value of a record
     */
    public byte[] encode(Addressed message) {
        LeaseRequest request = message.request;
        List<LeaseReport> reports = new ArrayList<>();
        for (LeaseRequest.Report report : request.reports()) {
            Instant lastUsed = Instant.ofEpochMilli(report.lastUsedMs());
            reports.add(new LeaseReport(report.leaseId(), report.used(), lastUsed, report.held()));
        }
        return avro.encode(new dev.weir.avro.LeaseRequest(
                request.holder(),
                message.partition,
                request.number(),
                request.minTokens(),
                request.waitingTokens(),
                request.requestedTokens(),
                request.settled(),
                request.roundTripMs(),
                reports));
    }

    /**
     * Decodes a message.
     *
     * @param value the value of a record
     * @return the message
     * @throws UnreadableException if the value is not such a message, or its partition or tokens are invalid
     */
    public Addressed decode(byte[] value) throws UnreadableException {
        dev.weir.avro.LeaseRequest event = avro.decode(value);
        if (event.getPartition() < 0 || event.getMinTokens() < 0 || event.getRequestedTokens() < event.getMinTokens()) {
            throw new UnreadableException(
                    Rejection.NOT_AVRO,
                    "invalid lease request for " + event.getMinTokens() + " to " + event.getRequestedTokens()
                            + " tokens from partition " + event.getPartition());
        }
        List<LeaseRequest.Report> reports = new ArrayList<>();
        for (LeaseReport report : event.getReports()) {
            long lastUsedMs = report.getLastUsed().toEpochMilli();
            reports.add(new LeaseRequest.Report(report.getLeaseId(), report.getUsed(), lastUsedMs, report.getHeld()));
        }
        LeaseRequest request = new LeaseRequest(
                event.getNumber(),
                event.getHolder(),
                new LeaseRequest.Wanted(
                        event.getMinTokens(),
                        Math.max(event.getMinTokens(), event.getWaitingTokens()),
                        event.getRequestedTokens()),
                reports,
                event.getSettled(),
                event.getRoundTripMs());
        return new Addressed(request, event.getPartition());
    }
}
