package dev.weir.storage.codec;

import dev.weir.decision.state.PolicyLedger;
import dev.weir.decision.state.PolicyState;
import dev.weir.lease.Refund;
import dev.weir.lease.SlotUse;
import dev.weir.lease.holder.Corrections;
import dev.weir.lease.holder.Lease;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeasePool;
import dev.weir.lease.ledger.EarlierUse;
import dev.weir.lease.ledger.Ledger;
import dev.weir.lease.ledger.LedgerUsage;
import dev.weir.lease.ledger.OutstandingLease;
import dev.weir.lease.ledger.OutstandingLeases;
import dev.weir.lease.ledger.RefundableUse;
import dev.weir.lease.ledger.RefusedHolders;
import dev.weir.limit.segment.SegmentReader;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Encodes ledgers and lease books.
 *
 * <pre>
 *   book    = version 1 | expiresAtMs, 8 bytes | clockMs | n, lease × n | last lease id | settled | n, refund × n |
 *             n, freed slots × n | n, renewal × n | n, answer × n
 *   lease   = id | amount | used | lastUsedMs | appendedAtMs | fromMs | untilMs | sentMs |
 *             reported + 2 × closing + 4 × reserved | number of reports | n, (slots' endMs | count) × n
 *   refund  = lease id | sinceMs | tokens
 *   freed slots = usedAtMs | endMs | count
 *   renewal = awaited + 2 × freed | reservation | usedAtMs | endMs | slotMs | count
 *   answer  = awaited + 2 × renewed | reservation | endMs
 *   ledger  = version 1 | expiresAtMs, 8 bytes | clockMs | next lease id | n, lent × n |
 *             state (as in {@link StateCodec}) | n, refusal × n (omitted if n is 0 and what follows is omitted) |
 *             suspendedBeforeId | resetBeforeId | resetMs | resetHolder | refundable use
 *             (omitted if nothing was suspended or reset and nothing can be refunded)
 *   lent    = lease id | holder | amount | used | requested | untilMs | dueMs
 *   refusal = holder | minTokens | requested | untilMs
 *   refundable use = from lease id | has reserved | n, afterMs × n | n, (holder, last number) × n
 * </pre>
 *
 * <p>Both start like a policy state, so {@link StateCodec#expiresAtMs} can read them too.
 */
public final class LeaseCodec {

    private static final int VERSION = 1;
    private static final int REPORTED = 1;
    private static final int CLOSING = 2;
    private static final int RESERVED = 4;

    private LeaseCodec() {}

    /** Encodes a book without its demand and its pending request. */
    public static byte[] encode(LeaseBook book) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.writeFixed(book.pool().expiresAtMs());
        out.writeSigned(book.clockMs());
        out.write(book.leases().size());
        for (Lease lease : book.leases()) {
            out.write(lease.id());
            out.write(lease.amount());
            out.write(lease.used());
            out.writeSigned(lease.lastUsedMs());
            out.writeSigned(lease.term().appendedAtMs());
            out.writeSigned(lease.term().fromMs() - lease.term().appendedAtMs());
            out.writeSigned(lease.term().untilMs() - lease.term().fromMs());
            out.writeSigned(lease.term().sentMs());
            out.writeByte((lease.isReported() ? REPORTED : 0)
                    | (lease.isClosing() ? CLOSING : 0)
                    | (lease.reports().isReserved() ? RESERVED : 0));
            out.write(lease.reports().count());
            out.write(lease.reports().slots().size());
            for (SlotUse slots : lease.reports().slots()) {
                out.writeSigned(slots.endMs() - lease.term().untilMs());
                out.write(slots.count());
            }
        }
        out.write(book.pool().lastId());
        out.writeSigned(book.corrections().settled());
        out.write(book.corrections().refunds().size());
        for (Refund refund : book.corrections().refunds()) {
            out.write(refund.leaseId());
            out.writeSigned(refund.sinceMs());
            out.write(refund.tokens());
        }
        SlotsCodec.write(book.corrections(), out);
        return out.written();
    }

    /** @throws IllegalStateException if the bytes are not a book, that is, if the store is damaged */
    public static LeaseBook decodeBook(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a lease book");
        in.readFixed();
        long clockMs = in.readSigned();
        int size = (int) in.read();
        List<Lease> leases = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            long lease = in.read();
            long amount = in.read();
            long used = in.read();
            long lastUsedMs = in.readSigned();
            long atMs = in.readSigned();
            long fromMs = atMs + in.readSigned();
            long untilMs = fromMs + in.readSigned();
            long sentMs = in.readSigned();
            int flags = in.readByte();
            long count = in.read();
            List<SlotUse> slots = new ArrayList<>();
            for (long left = in.read(); left > 0; left--) {
                slots.add(new SlotUse(untilMs + in.readSigned(), in.read()));
            }
            Lease.Reports reports = new Lease.Reports(count, (flags & REPORTED) != 0, (flags & RESERVED) != 0, slots);
            leases.add(new Lease(
                    lease,
                    amount,
                    used,
                    lastUsedMs,
                    new Lease.Term(atMs, fromMs, untilMs, sentMs),
                    reports,
                    (flags & CLOSING) != 0));
        }
        long lastLease = in.read();
        long settled = in.readSigned();
        List<Refund> refunds = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            refunds.add(new Refund(in.read(), in.readSigned(), in.read()));
        }
        Corrections corrections =
                Corrections.fromStore(settled, refunds, SlotsCodec.readFreed(in), SlotsCodec.readRenewals(in));
        return LeaseBook.fromStore(new LeasePool(clockMs, leases, lastLease), corrections);
    }

    public static byte[] encode(PolicyLedger of) {
        Ledger ledger = of.ledger();
        StateBytes out = StateBytes.toWrite(VERSION);
        out.writeFixed(of.expiresAtMs());
        out.writeSigned(ledger.clockMs());
        out.write(ledger.outstanding().nextId());
        out.write(ledger.leases().size());
        for (OutstandingLease lease : ledger.leases()) {
            out.write(lease.leaseId());
            out.write(lease.holder());
            out.write(lease.amount());
            out.write(lease.used());
            out.write(lease.requestedTokens());
            out.writeSigned(lease.untilMs() - ledger.clockMs());
            out.writeSigned(lease.dueMs() - lease.untilMs());
        }
        out.write(StateCodec.encode(of.usage()));
        EarlierUse earlier = ledger.usage().earlier();
        boolean hasEarlier = !earlier.equals(EarlierUse.NONE);
        if (!ledger.refusals().isEmpty() || hasEarlier) {
            out.write(ledger.refusals().size());
        }
        for (RefusedHolders.Refusal refusal : ledger.refusals()) {
            out.write(refusal.holder());
            out.write(refusal.minTokens());
            out.write(refusal.requestedTokens());
            out.writeSigned(refusal.untilMs() - ledger.clockMs());
        }
        if (hasEarlier) {
            out.write(earlier.suspendedBeforeId());
            out.write(earlier.resetBeforeId());
            out.writeSigned(earlier.resetMs());
            out.write(earlier.resetHolder());
            writeRefundable(earlier.refundable(), out);
        }
        return out.written();
    }

    private static void writeRefundable(RefundableUse refundable, StateBytes out) {
        out.write(refundable.fromLeaseId());
        out.writeByte(refundable.hasReserved() ? 1 : 0);
        out.write(refundable.afterMs().size());
        refundable.afterMs().forEach(out::writeSigned);
        out.write(refundable.holders().size());
        for (RefundableUse.RefundingHolder holder : refundable.holders()) {
            out.write(holder.holder());
            out.write(holder.lastNumber());
        }
    }

    private static RefundableUse readRefundable(StateBytes in) {
        long fromLeaseId = in.read();
        boolean hasReserved = in.readByte() != 0;
        List<Long> afterMs = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            afterMs.add(in.readSigned());
        }
        List<RefundableUse.RefundingHolder> holders = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            holders.add(new RefundableUse.RefundingHolder(in.readText(), in.read()));
        }
        return new RefundableUse(fromLeaseId, hasReserved, afterMs, holders);
    }

    /**
     * Decodes a ledger.
     *
     * @param readers returns what reads the full segments of a log, by the log's id
     * @throws IllegalStateException if the bytes are not a ledger, that is, if the store is damaged
     */
    public static PolicyLedger decodeLedger(byte[] bytes, IntFunction<SegmentReader> readers) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a ledger");
        in.readFixed();
        long clockMs = in.readSigned();
        long nextLease = in.read();
        int size = (int) in.read();
        List<OutstandingLease> leases = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            long lease = in.read();
            String holder = in.readText();
            long amount = in.read();
            long used = in.read();
            long wanted = in.read();
            long untilMs = clockMs + in.readSigned();
            leases.add(new OutstandingLease(lease, holder, amount, used, wanted, untilMs, untilMs + in.readSigned()));
        }
        PolicyState used = StateCodec.decode(in.readBytes(), readers);
        List<RefusedHolders.Refusal> refusals = new ArrayList<>();
        for (long left = in.hasMore() ? in.read() : 0; left > 0; left--) {
            String holder = in.readText();
            long least = in.read();
            long wanted = in.read();
            refusals.add(new RefusedHolders.Refusal(holder, least, wanted, clockMs + in.readSigned()));
        }
        EarlierUse earlier = in.hasMore()
                ? new EarlierUse(
                        used.suspended(), in.read(), in.read(), in.readSigned(), in.readText(), readRefundable(in))
                : EarlierUse.NONE;
        Ledger ledger = new Ledger(
                new LedgerUsage(clockMs, used.lastChargeMs(), used.accounts(), earlier),
                new OutstandingLeases(leases, nextLease),
                new RefusedHolders(refusals));
        return new PolicyLedger(ledger, used.retired());
    }
}
