package dev.weir.codec;

import dev.weir.lease.Book;
import dev.weir.lease.Ledger;
import dev.weir.limit.Segments;
import dev.weir.policy.PolicyLedger;
import dev.weir.policy.PolicyState;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Ledgers and books as bytes of their stores.
 *
 * <pre>
 *   book    = version 1 | forgettableAtMs, 8 bytes | clockMs | n, slice × n | second, before, present
 *             | open, askedMs, least, retryAtMs, aheadAtMs | lastLease | settled
 *   slice   = lease | amount | used | lastUsedMs | untilMs | reported + 2 × closing
 *   ledger  = version 1 | forgettableAtMs, 8 bytes | clockMs | nextLease | n, loan × n | the state of {@link StateCodec}
 *   loan    = lease | holder | amount | used | untilMs
 * </pre>
 *
 * <p>Both begin as a state does, so that {@link StateCodec#forgettableAtMs} reads them too.
 */
public final class LeaseCodec {

    private static final int VERSION = 1;
    private static final int REPORTED = 1;
    private static final int CLOSING = 2;

    private LeaseCodec() {}

    /** @param forgettableAtMs from when on an empty book says the same */
    public static byte[] encode(Book book, long forgettableAtMs) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.writeFixed(forgettableAtMs);
        out.writeSigned(book.clockMs());
        out.write(book.slices().size());
        for (Book.Slice slice : book.slices()) {
            out.write(slice.lease());
            out.write(slice.amount());
            out.write(slice.used());
            out.writeSigned(slice.lastUsedMs());
            out.writeSigned(slice.untilMs() - book.clockMs());
            out.writeByte((slice.isReported() ? REPORTED : 0) | (slice.isClosing() ? CLOSING : 0));
        }
        Book.Demand demand = book.demand();
        out.writeSigned(demand.second());
        out.write(demand.before());
        out.write(demand.present());
        Book.Question question = book.question();
        out.writeByte(question.isOpen() ? 1 : 0);
        out.writeSigned(question.askedMs());
        out.write(question.least());
        out.writeSigned(question.retryAtMs());
        out.writeSigned(question.aheadAtMs());
        out.write(book.lastLease());
        out.writeSigned(book.settled());
        return out.written();
    }

    /** @throws IllegalStateException if the bytes are not those of a book: the store is broken */
    public static Book decodeBook(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a book");
        in.readFixed();
        long clockMs = in.readSigned();
        int size = (int) in.read();
        List<Book.Slice> slices = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            long lease = in.read();
            long amount = in.read();
            long used = in.read();
            long lastUsedMs = in.readSigned();
            long untilMs = clockMs + in.readSigned();
            int flags = in.readByte();
            boolean isReported = (flags & REPORTED) != 0;
            slices.add(new Book.Slice(lease, amount, used, lastUsedMs, untilMs, isReported, (flags & CLOSING) != 0));
        }
        Book.Demand demand = new Book.Demand(in.readSigned(), in.read(), in.read());
        Book.Question question =
                new Book.Question(in.readByte() != 0, in.readSigned(), in.read(), in.readSigned(), in.readSigned());
        return new Book(clockMs, slices, demand, question, in.read(), in.readSigned());
    }

    public static byte[] encode(PolicyLedger of) {
        Ledger ledger = of.ledger();
        StateBytes out = StateBytes.toWrite(VERSION);
        out.writeFixed(of.forgettableAtMs());
        out.writeSigned(ledger.clockMs());
        out.write(ledger.nextLease());
        out.write(ledger.loans().size());
        for (Ledger.Loan loan : ledger.loans()) {
            out.write(loan.lease());
            out.write(loan.holder());
            out.write(loan.amount());
            out.write(loan.used());
            out.writeSigned(loan.untilMs() - ledger.clockMs());
        }
        out.write(StateCodec.encode(of.used()));
        return out.written();
    }

    /**
     * Reads a ledger.
     *
     * @param shelves where the segments of a log are, by its shelf
     * @throws IllegalStateException if the bytes are not those of a ledger: the store is broken
     */
    public static PolicyLedger decodeLedger(byte[] bytes, IntFunction<Segments> shelves) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "a ledger");
        in.readFixed();
        long clockMs = in.readSigned();
        long nextLease = in.read();
        int size = (int) in.read();
        List<Ledger.Loan> loans = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            long lease = in.read();
            String holder = in.readText();
            long amount = in.read();
            long used = in.read();
            loans.add(new Ledger.Loan(lease, holder, amount, used, clockMs + in.readSigned()));
        }
        PolicyState used = StateCodec.decode(in.readBytes(), shelves);
        Ledger ledger = new Ledger(clockMs, used.lastMs(), used.accounts(), loans, nextLease);
        return new PolicyLedger(ledger, used.retired());
    }
}
