package dev.weir.wire;

import dev.weir.avro.LeaseReport;
import dev.weir.event.Rejection;
import dev.weir.lease.LeaseRequest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Messages of lease holders to ledgers as Avro. Threads may share an instance. */
public final class LeaseRequestAvro {

    private final AvroBytes<dev.weir.avro.LeaseRequest> avro = new AvroBytes<>(new dev.weir.avro.LeaseRequest(), 0);

    /**
     * A message to a ledger.
     *
     * @param partition of the topic of lease responses that the response is written to
     */
    public record Addressed(LeaseRequest request, int partition) {}

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
                request.requestedTokens(),
                request.settled(),
                request.roundTripMs(),
                reports));
    }

    /** @throws UnreadableException if the bytes are not such a message, or its partition or tokens are impossible */
    public Addressed decode(byte[] value) throws UnreadableException {
        dev.weir.avro.LeaseRequest event = avro.decode(value);
        if (event.getPartition() < 0 || event.getMinTokens() < 0 || event.getRequestedTokens() < event.getMinTokens()) {
            throw new UnreadableException(
                    Rejection.NOT_AVRO,
                    "lease request for " + event.getMinTokens() + " to " + event.getRequestedTokens()
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
                event.getMinTokens(),
                event.getRequestedTokens(),
                reports,
                event.getSettled(),
                event.getRoundTripMs());
        return new Addressed(request, event.getPartition());
    }
}
