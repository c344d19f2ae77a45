package dev.weir.wire;

import dev.weir.avro.LeaseFreedSlots;
import dev.weir.avro.LeaseRefund;
import dev.weir.avro.LeaseRenewal;
import dev.weir.avro.LeaseReport;
import dev.weir.avro.LeaseSlots;
import dev.weir.event.Rejection;
import dev.weir.fault.UnreadableException;
import dev.weir.lease.FreedSlots;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.Refund;
import dev.weir.lease.SlotRenewal;
import dev.weir.lease.SlotUse;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** The Avro codec of messages of lease holders to ledgers. Thread-safe. */
public final class LeaseRequestAvro {

    /**
     * The maximum length of a holder's name in UTF-8, in bytes. Ledgers store the name with each lease. Those of tasks
     * consist of the application id, of up to 100 characters, and a partition; those of clients are shorter.
     */
    public static final int MAX_HOLDER_BYTES = 128;

    /** The maximum length of a message, in bytes. Holders report a few leases, of up to 50 bytes each. */
    private static final int MAX_BYTES = 256 << 10;

    private final AvroBytes<dev.weir.avro.LeaseRequest> avro = new AvroBytes<>(new dev.weir.avro.LeaseRequest());

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
            List<LeaseSlots> slots = report.slots().stream()
                    .map(each -> new LeaseSlots(Instant.ofEpochMilli(each.endMs()), each.count()))
                    .toList();
            reports.add(new LeaseReport(
                    report.leaseId(), report.used(), lastUsed, report.held(), report.isReserved(), slots));
        }
        List<LeaseRefund> refunds = new ArrayList<>();
        for (Refund refund : request.refunds().refunds()) {
            refunds.add(new LeaseRefund(refund.leaseId(), Instant.ofEpochMilli(refund.sinceMs()), refund.tokens()));
        }
        return avro.encode(new dev.weir.avro.LeaseRequest(
                request.holder(),
                message.partition,
                request.number(),
                request.minTokens(),
                request.waitingTokens(),
                request.requestedTokens(),
                request.checkedTokens(),
                request.isReset(),
                request.settled(),
                request.roundTripMs(),
                reports,
                request.refunds().number(),
                refunds,
                request.refunds().freed().stream().map(LeaseRequestAvro::freed).toList(),
                request.refunds().renewals().stream()
                        .map(LeaseRequestAvro::renewal)
                        .toList()));
    }

    private static LeaseFreedSlots freed(FreedSlots freed) {
        return new LeaseFreedSlots(
                Instant.ofEpochMilli(freed.usedAtMs()), Instant.ofEpochMilli(freed.endMs()), freed.count());
    }

    private static LeaseRenewal renewal(SlotRenewal renewal) {
        return new LeaseRenewal(
                renewal.reservation(),
                Instant.ofEpochMilli(renewal.usedAtMs()),
                Instant.ofEpochMilli(renewal.endMs()),
                renewal.slotMs(),
                renewal.count());
    }

    /**
     * Decodes a message.
     *
     * @param value the value of a record
     * @return the message
     * @throws UnreadableException if the value is not such a message or exceeds 256 KiB, its holder exceeds
     *     {@value #MAX_HOLDER_BYTES} bytes, or its partition or tokens are invalid
     */
    public Addressed decode(byte[] value) throws UnreadableException {
        if (value != null && value.length > MAX_BYTES) {
            throw new UnreadableException(
                    Rejection.RECORD_TOO_LARGE,
                    "the lease request has " + value.length + " bytes; the maximum is " + MAX_BYTES);
        }
        dev.weir.avro.LeaseRequest event = avro.decode(value);
        int holderBytes = event.getHolder().getBytes(StandardCharsets.UTF_8).length;
        if (holderBytes > MAX_HOLDER_BYTES) {
            throw new UnreadableException(
                    Rejection.NOT_AVRO,
                    "invalid lease request: the holder has " + holderBytes + " bytes; the maximum is "
                            + MAX_HOLDER_BYTES);
        }
        if (event.getPartition() < 0
                || event.getMinTokens() < 0
                || event.getRequestedTokens() < event.getMinTokens()
                || event.getCheckedTokens() < 0) {
            throw new UnreadableException(
                    Rejection.NOT_AVRO,
                    "invalid lease request for " + event.getMinTokens() + " to " + event.getRequestedTokens()
                            + " tokens, a check of " + event.getCheckedTokens() + ", from partition "
                            + event.getPartition());
        }
        List<LeaseRequest.Report> reports = new ArrayList<>();
        for (LeaseReport report : event.getReports()) {
            long lastUsedMs = report.getLastUsed().toEpochMilli();
            reports.add(new LeaseRequest.Report(
                    report.getLeaseId(),
                    report.getUsed(),
                    lastUsedMs,
                    report.getHeld(),
                    report.getReserved(),
                    report.getSlots().stream()
                            .map(each -> new SlotUse(each.getEnd().toEpochMilli(), each.getCount()))
                            .toList()));
        }
        List<Refund> refunds = new ArrayList<>();
        for (LeaseRefund refund : event.getRefunds()) {
            refunds.add(new Refund(refund.getLeaseId(), refund.getSince().toEpochMilli(), refund.getTokens()));
        }
        List<FreedSlots> freed = event.getFreedSlots().stream()
                .map(each -> new FreedSlots(
                        each.getSince().toEpochMilli(), each.getEnd().toEpochMilli(), each.getCount()))
                .toList();
        List<SlotRenewal> renewals = event.getRenewals().stream()
                .map(each -> new SlotRenewal(
                        each.getReservation(),
                        each.getSince().toEpochMilli(),
                        each.getEnd().toEpochMilli(),
                        each.getSlotMs(),
                        each.getCount()))
                .toList();
        LeaseRequest request = new LeaseRequest(
                event.getNumber(),
                event.getHolder(),
                new LeaseRequest.Wanted(
                        event.getMinTokens(),
                        Math.max(event.getMinTokens(), event.getWaitingTokens()),
                        event.getRequestedTokens(),
                        event.getCheckedTokens()),
                new LeaseRequest.Usage(
                        reports,
                        event.getSettled(),
                        new LeaseRequest.Refunds(event.getRefundNumber(), refunds, freed, renewals)),
                event.getRoundTripMs(),
                event.getReset());
        return new Addressed(request, event.getPartition());
    }
}
