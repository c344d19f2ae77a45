package dev.weir.wire;

import dev.weir.avro.LeaseAsk;
import dev.weir.avro.LeaseReport;
import dev.weir.event.Rejection;
import dev.weir.lease.LeaseRequest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Questions of holders to ledgers as Avro. Threads may share an instance. */
public final class LeaseRequestAvro {

    private final AvroBytes<LeaseAsk> avro = new AvroBytes<>(new LeaseAsk(), 1);

    /**
     * A question, and where its answer is read.
     *
     * @param partition of the topic of grants
     */
    public record Addressed(LeaseRequest ask, int partition) {}

    public byte[] encode(Addressed question) {
        LeaseRequest ask = question.ask;
        List<LeaseReport> reports = new ArrayList<>();
        for (LeaseRequest.Report report : ask.reports()) {
            Instant lastUsed = Instant.ofEpochMilli(report.lastUsedMs());
            reports.add(new LeaseReport(report.leaseId(), report.used(), lastUsed, report.held()));
        }
        return avro.encode(new LeaseAsk(
                ask.holder(),
                question.partition,
                ask.number(),
                ask.minTokens(),
                ask.requestedTokens(),
                ask.settled(),
                ask.roundTripMs(),
                reports));
    }

    /** @throws UnreadableException if the bytes are no question */
    public Addressed decode(byte[] value) throws UnreadableException {
        LeaseAsk event = avro.decode(value);
        if (event.getPartition() < 0 || event.getLeast() < 0 || event.getWant() < event.getLeast()) {
            throw new UnreadableException(Rejection.NOT_AVRO, "a question that nobody asks");
        }
        List<LeaseRequest.Report> reports = new ArrayList<>();
        for (LeaseReport report : event.getReports()) {
            long lastUsedMs = report.getLastUsed().toEpochMilli();
            reports.add(new LeaseRequest.Report(report.getLease(), report.getUsed(), lastUsedMs, report.getHeld()));
        }
        LeaseRequest ask = new LeaseRequest(
                event.getNumber(),
                event.getHolder(),
                event.getLeast(),
                event.getWant(),
                reports,
                event.getSettled(),
                event.getRoundTripMs());
        return new Addressed(ask, event.getPartition());
    }
}
