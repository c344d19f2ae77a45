package dev.weir.lease;

import dev.weir.lease.Ask.Report;
import dev.weir.limit.Limit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What one holder has of one shared limit, and how much it is asked for. It asks for the next slice before the last one is used up, by
 * what was wanted of it lately, and gives back what is not wanted before it ends.
 *
 * <pre>
 *   wanted a second      the more of: in the last whole second, in the present one so far
 *   asks                 when what it holds is less than what is wanted in lead, or what waits needs
 *   for                  what is wanted in term, less what it holds
 *   reports              with each question; what is used up a lead later if it asks nothing
 * </pre>
 *
 * @param clockMs the latest time that it was asked at, and not before the ledger's when it last answered
 * @param slices those that are not reported as used up, the one that ends first first
 * @param demand what is wanted of it
 * @param question what it has asked for, and has no answer to
 * @param lastLease the last slice that it was given: one that comes again is none
 * @param settled what the ledger is to be told of beside the slices
 */
public record Book(long clockMs, List<Slice> slices, Demand demand, Question question, long lastLease, long settled) {

    private static final long MS_PER_SECOND = 1_000;

    private static final Comparator<Slice> BY_END =
            Comparator.comparingLong(Slice::untilMs).thenComparingLong(Slice::lease);

    /**
     * A part of the quota that is lent to this holder.
     *
     * @param isReported whether the ledger knows how much of it is used
     * @param isClosing whether what will not be used of it was given back, as it ends soon
     */
    public record Slice(
            long lease, long amount, long used, long lastUsedMs, long untilMs, boolean isReported, boolean isClosing) {

        long left() {
            return amount - used;
        }
    }

    /**
     * Tokens that were wanted, whether they were had or not.
     *
     * @param second the number of the present second
     * @param before in the second before it
     * @param present in it so far
     */
    public record Demand(long second, long before, long present) {

        static final Demand NONE = new Demand(0, 0, 0);

        Demand at(long nowMs) {
            long now = Math.floorDiv(nowMs, MS_PER_SECOND);
            if (now <= second) {
                return this;
            }
            return new Demand(now, now == second + 1 ? present : 0, 0);
        }

        Demand plus(long tokens, long nowMs) {
            Demand now = at(nowMs);
            return new Demand(now.second, now.before, now.present + tokens);
        }

        /** So much is wanted in a time, rounded down: who wants little asks when it wants it. */
        long in(long ms) {
            long aSecond = Math.max(before, present);
            return aSecond / MS_PER_SECOND * ms + aSecond % MS_PER_SECOND * ms / MS_PER_SECOND;
        }
    }

    /**
     * What the ledger was asked, and what it said last.
     *
     * @param askedMs when it was asked or, if it is not open, when it answered
     * @param least what it was asked for at least: what it has refused
     * @param retryAtMs before that there is not as much, {@link Long#MAX_VALUE}: never; unless somebody gives something back, or the
     *     limit is another one: so it is asked again a term later at the latest
     * @param aheadAtMs before that it is not asked again but for a request that waits: a slice may be shorter than lead
     */
    public record Question(boolean isOpen, long askedMs, long least, long retryAtMs, long aheadAtMs) {

        static final Question NONE = new Question(false, 0, 1, 0, 0);

        /** When it may be asked again for as much. */
        public long againAtMs(LeaseTerms terms) {
            return isOpen ? askedMs + terms.termMs() : Math.min(retryAtMs, askedMs + terms.termMs());
        }
    }

    /**
     * What is to be told to the ledger, and the book once it is told.
     *
     * @param ask null: nothing after all
     */
    public record Telling(Book book, Ask ask) {}

    public Book {
        slices = List.copyOf(slices);
    }

    /** One that holds nothing. */
    public static Book empty(long nowMs) {
        return new Book(nowMs, List.of(), Demand.NONE, Question.NONE, 0, 0);
    }

    /** The time that a decision goes by: now, or where the ledger was if that is later. */
    public long timeMs(long nowMs) {
        return Math.max(clockMs, nowMs);
    }

    /** Tokens that can be had now. */
    public long available(LeaseTerms terms, long nowMs) {
        long atMs = timeMs(nowMs);
        long available = 0;
        for (Slice slice : slices) {
            available += isGood(slice, terms, atMs) ? slice.left() : 0;
        }
        return available;
    }

    /** Until when that stays so if nothing is taken of it, {@link Long#MAX_VALUE} if nothing is there. */
    public long availableUntilMs(LeaseTerms terms, long nowMs) {
        long atMs = timeMs(nowMs);
        long untilMs = Long.MAX_VALUE;
        for (Slice slice : slices) {
            untilMs = isGood(slice, terms, atMs) ? Math.min(untilMs, slice.untilMs - terms.marginMs()) : untilMs;
        }
        return untilMs;
    }

    /** With what was wanted, had or not. */
    public Book wanted(long cost, long nowMs) {
        return new Book(timeMs(nowMs), slices, demand.plus(cost, timeMs(nowMs)), question, lastLease, settled);
    }

    /** With so much used of the slices that end first; as much as is {@link #available} at most. */
    public Book take(long cost, LeaseTerms terms, long nowMs) {
        long atMs = timeMs(nowMs);
        long left = cost;
        List<Slice> next = new ArrayList<>();
        for (Slice slice : slices) {
            long part = isGood(slice, terms, atMs) ? Math.min(left, slice.left()) : 0;
            left -= part;
            next.add(
                    part == 0
                            ? slice
                            : new Slice(
                                    slice.lease,
                                    slice.amount,
                                    slice.used + part,
                                    atMs,
                                    slice.untilMs,
                                    false,
                                    slice.isClosing));
        }
        if (left > 0) {
            throw new IllegalArgumentException(cost + " is not available, by " + left);
        }
        return new Book(atMs, next, demand, question, lastLease, settled);
    }

    /** With a charge that comes in any case or, below zero, with what is given back: what no slice has is told to the ledger. */
    public Book settle(long cost, LeaseTerms terms, long nowMs) {
        long here = Math.max(0, Math.min(cost, available(terms, nowMs)));
        Book taken = take(here, terms, nowMs);
        long rest = Math.max(-Limit.MAX_LEVEL, Math.min(Limit.MAX_LEVEL, settled + cost - here));
        return new Book(taken.clockMs, taken.slices, demand, question, lastLease, rest);
    }

    /**
     * With what the ledger has answered. A slice that is over before it came, since the clocks differ by more than a term, is given
     * back, and it asks no more for a term: or it would ask without end, and have all that others want.
     */
    public Book answered(Grant grant, LeaseTerms terms, long nowMs) {
        if (grant instanceof Grant.Slice lent) {
            if (lent.lease() <= lastLease) {
                return this; // it comes twice
            }
            Slice slice = new Slice(lent.lease(), lent.amount(), 0, 0, lent.untilMs(), true, false);
            List<Slice> next = new ArrayList<>(slices);
            next.add(slice);
            next.sort(BY_END);
            long atMs = Math.max(timeMs(nowMs), lent.fromMs());
            long retryAtMs = isGood(slice, terms, atMs) ? atMs : atMs + terms.termMs();
            Question answered = new Question(false, atMs, 1, retryAtMs, atMs + terms.leadMs());
            return new Book(atMs, next, demand, answered, lent.lease(), settled);
        }
        Grant.Nothing nothing = (Grant.Nothing) grant;
        long atMs = Math.max(timeMs(nowMs), nothing.atMs());
        long retryAtMs =
                nothing.retryAfterMs() > Long.MAX_VALUE - atMs ? Long.MAX_VALUE : atMs + nothing.retryAfterMs();
        long aheadAtMs = Math.min(retryAtMs, atMs + terms.termMs());
        Question refused = new Question(false, atMs, question.least, retryAtMs, aheadAtMs);
        return new Book(atMs, slices, demand, refused, lastLease, settled);
    }

    /**
     * What is to be told to the ledger now; null: nothing.
     *
     * @param waits the cost of the request that waits first, 0 if none does
     */
    public Telling tell(String holder, long waits, LeaseTerms terms, long nowMs) {
        long atMs = timeMs(nowMs);
        Demand now = demand.at(atMs);
        boolean asks = asks(now, waits, terms, atMs);
        if (!asks && settled == 0 && tellAtMs(terms) > atMs) {
            return null;
        }
        List<Report> reports = new ArrayList<>();
        List<Slice> next = new ArrayList<>();
        for (Slice slice : slices) {
            boolean isClosing = slice.isClosing || closesAtMs(slice, terms) <= atMs;
            long wanted = isClosing ? now.in(Math.max(0, slice.untilMs - terms.marginMs() - atMs)) : slice.left();
            long held = Math.min(slice.left(), wanted);
            if (!slice.isReported || held < slice.left()) {
                reports.add(new Report(slice.lease, slice.used, slice.lastUsedMs, held));
            }
            if (held > 0) {
                next.add(new Slice(
                        slice.lease, slice.used + held, slice.used, slice.lastUsedMs, slice.untilMs, true, isClosing));
            }
        }
        if (!asks && settled == 0 && reports.isEmpty()) {
            return new Telling(new Book(atMs, next, now, question, lastLease, 0), null);
        }
        long available = next.stream().mapToLong(Slice::left).sum();
        long least = asks ? Math.max(1, waits - available) : 0;
        long want = asks ? Math.max(least, now.in(terms.termMs()) - available) : 0;
        Question asked = asks ? new Question(true, atMs, least, 0, 0) : question;
        return new Telling(
                new Book(atMs, next, now, asked, lastLease, 0), new Ask(holder, least, want, reports, settled));
    }

    /** What is to be told if nothing is used any more: all that is left is given back. There is no ask if there is nothing to tell. */
    public Telling tellAll(String holder) {
        List<Report> reports = new ArrayList<>();
        for (Slice slice : slices) {
            if (!slice.isReported || slice.left() > 0) {
                reports.add(new Report(slice.lease, slice.used, slice.lastUsedMs, 0));
            }
        }
        Book next = new Book(clockMs, List.of(), demand, question, lastLease, 0);
        boolean isNothing = reports.isEmpty() && settled == 0;
        return new Telling(next, isNothing ? null : new Ask(holder, 0, 0, reports, settled));
    }

    /** Whether so much may come if the ledger is asked: not for a while after it has said that there is not as much. */
    public boolean mayCome(long cost, LeaseTerms terms, long nowMs) {
        long atMs = timeMs(nowMs);
        return question.isOpen
                || atMs >= question.againAtMs(terms)
                || Math.max(1, cost - available(terms, atMs)) < question.least;
    }

    private boolean asks(Demand now, long waits, LeaseTerms terms, long atMs) {
        boolean isAnswered = !question.isOpen || atMs >= question.againAtMs(terms);
        long available = available(terms, atMs);
        boolean isAhead = available < now.in(terms.leadMs()) && atMs >= question.aheadAtMs;
        return isAnswered && mayCome(waits, terms, atMs) && (available < waits || isAhead);
    }

    /** When there is something to tell of a slice if nothing comes before; {@link Long#MAX_VALUE}: never. */
    public long tellAtMs(LeaseTerms terms) {
        long tellAtMs = Long.MAX_VALUE;
        for (Slice slice : slices) {
            tellAtMs = slice.isClosing ? tellAtMs : Math.min(tellAtMs, closesAtMs(slice, terms));
        }
        return tellAtMs;
    }

    /** From this time on, an {@link #empty} book says the same. */
    public long forgettableAtMs(LeaseTerms terms) {
        long atMs = (demand.second + 2) * MS_PER_SECOND;
        for (Slice slice : slices) {
            atMs = Math.max(atMs, slice.untilMs);
        }
        return Math.max(atMs, question.againAtMs(terms));
    }

    /** When what will not be used of a slice is given back, so that it is there before the slice ends; or when, used up, it is reported. */
    private static long closesAtMs(Slice slice, LeaseTerms terms) {
        long closesAtMs = slice.untilMs - terms.marginMs() - terms.leadMs();
        return slice.left() == 0 ? Math.min(closesAtMs, slice.lastUsedMs + terms.leadMs()) : closesAtMs;
    }

    private static boolean isGood(Slice slice, LeaseTerms terms, long atMs) {
        return atMs < slice.untilMs - terms.marginMs();
    }
}
