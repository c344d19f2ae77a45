package dev.weir.failure;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The usage of one key under one limit, computed by the definition of the limit alone. Times must not decrease. A
 * refund (a cost below 0) is subtracted from the newest usage first, and never makes the usage negative.
 */
sealed interface KeyUsageModel {

    /** Records a cost, whether it fits or not. */
    void book(long cost, long atMs);

    /** Returns by how much the usage exceeds the limit, in a unit of the algorithm; 0 or less if it does not. */
    long excess(long atMs);

    /** Returns the usage in tokens, rounded down. */
    long inUse(long atMs);

    /** Returns whether nothing is in use, so that there is nothing to refund. */
    default boolean isUnused(long atMs) {
        return inUse(atMs) == 0;
    }

    /** Returns a model without usage. */
    static KeyUsageModel of(PolicyTerms terms, long atMs) {
        if (terms.algorithm().equals(PolicyTerms.UNLIMITED)) {
            return new Free();
        }
        if (terms.limit() == 0) {
            return new Log(0, 1);
        }
        return switch (terms.algorithm()) {
            case "fixed-window" -> new Fixed(terms.limit(), terms.perMs());
            case "sliding-window-log" -> new Log(terms.limit(), terms.perMs());
            case "sliding-window-counter" -> new Counter(terms.limit(), terms.perMs(), terms.strict());
            case "token-bucket", "leaky-bucket", "gcra", PolicyTerms.INTERVAL -> new Rate(terms, atMs);
            default -> throw new IllegalArgumentException("unknown algorithm: " + terms);
        };
    }

    /**
     * Returns the usage under other terms. It keeps its times where they mean the same under the new terms; otherwise
     * the usage in whole tokens counts as of now. The enforcer rounds up where this model rounds down, so it must not
     * admit more than the model.
     */
    default KeyUsageModel under(PolicyTerms terms, long atMs) {
        KeyUsageModel next = of(terms, atMs);
        boolean goesOn = next.goesOnFrom(this, atMs);
        if (!goesOn && terms.counts()) {
            next.book(inUse(atMs), atMs);
        }
        long most = terms.counts() && waitGrows(terms) ? terms.capacity() : Long.MAX_VALUE;
        next.book(Math.min(0, most - 1 - next.inUse(atMs)), atMs); // the usage is rounded down
        return next;
    }

    /** Returns whether the wait grows with the usage. If it does, a change carries over at most one full limit. */
    private static boolean waitGrows(PolicyTerms terms) {
        return !terms.algorithm().equals("fixed-window") && !terms.algorithm().equals("sliding-window-log");
    }

    /**
     * Records a cost that is charged even if it does not fit: up to {@code mostUsed}, but all of it for a denial that
     * counts in a log. A cost below 0 is a refund. Because the usage is rounded down here, one token less may be
     * charged than by the enforcer.
     *
     * @param mostUsed the most tokens in use afterwards
     * @return the part of the cost that was recorded
     */
    default long bookBeyond(PolicyTerms terms, long mostUsed, long cost, boolean isDenial, long atMs) {
        boolean isBounded = terms.counts() && !(isDenial && terms.algorithm().equals("sliding-window-log"));
        long room = isBounded ? Math.max(0, mostUsed - inUse(atMs) - 1) : Long.MAX_VALUE;
        long booked = Math.min(cost, room);
        book(booked, atMs);
        return booked;
    }

    /** Takes over the usage of another model, if it means the same here. Returns whether it does. */
    boolean goesOnFrom(KeyUsageModel old, long atMs);

    /** Unlimited. */
    final class Free implements KeyUsageModel {
        @Override
        public void book(long cost, long atMs) {}

        @Override
        public long excess(long atMs) {
            return 0;
        }

        @Override
        public long inUse(long atMs) {
            return 0;
        }

        @Override
        public boolean goesOnFrom(KeyUsageModel old, long atMs) {
            return true;
        }
    }

    /** A fixed window: the sum of each aligned window is at most the limit. */
    final class Fixed implements KeyUsageModel {
        private final long limit;
        private final long perMs;
        private long window = Long.MIN_VALUE;
        private long sum;

        Fixed(long limit, long perMs) {
            this.limit = limit;
            this.perMs = perMs;
        }

        @Override
        public void book(long cost, long atMs) {
            sum = Math.max(0, inUse(atMs) + cost);
            window = Math.floorDiv(atMs, perMs);
        }

        @Override
        public long excess(long atMs) {
            return inUse(atMs) - limit;
        }

        @Override
        public long inUse(long atMs) {
            return Math.floorDiv(atMs, perMs) == window ? sum : 0;
        }

        @Override
        public boolean goesOnFrom(KeyUsageModel old, long atMs) {
            if (old instanceof Fixed fixed && fixed.perMs == perMs) {
                window = fixed.window;
                sum = fixed.sum;
                return true;
            }
            return false;
        }
    }

    /** A sliding window log: the sum of each window (t − per, t] is at most the limit. */
    final class Log implements KeyUsageModel {

        private record Taken(long cost, long atMs) {}

        private final long limit;
        private final long perMs;
        private Deque<Taken> window = new ArrayDeque<>();
        private long sum;

        Log(long limit, long perMs) {
            this.limit = limit;
            this.perMs = perMs;
        }

        @Override
        public void book(long cost, long atMs) {
            slide(atMs);
            if (cost > 0) {
                window.addLast(new Taken(cost, atMs));
                sum += cost;
            }
            long left = -cost;
            while (left > 0 && !window.isEmpty()) {
                Taken newest = window.removeLast();
                long part = Math.min(left, newest.cost);
                left -= part;
                sum -= part;
                if (newest.cost > part) {
                    window.addLast(new Taken(newest.cost - part, newest.atMs));
                }
            }
        }

        @Override
        public long excess(long atMs) {
            return inUse(atMs) - limit;
        }

        @Override
        public long inUse(long atMs) {
            slide(atMs);
            return sum;
        }

        @Override
        public boolean goesOnFrom(KeyUsageModel old, long atMs) {
            if (old instanceof Log log) {
                log.slide(atMs); // costs that have left the old window do not return in a longer one
                window = log.window;
                sum = log.sum;
                return true;
            }
            return false;
        }

        private void slide(long atMs) {
            while (!window.isEmpty() && window.peekFirst().atMs <= atMs - perMs) {
                sum -= window.removeFirst().cost;
            }
        }
    }

    /**
     * A sliding window counter: the share of the previous window that the sliding one still covers, plus the sum of the
     * current window, is at most the limit.
     */
    final class Counter implements KeyUsageModel {
        private final long limit;
        private final long perMs;
        private final boolean strict;
        private long window = Long.MIN_VALUE / 2;
        private long former;
        private long sum;

        Counter(long limit, long perMs, boolean strict) {
            this.limit = limit;
            this.perMs = perMs;
            this.strict = strict;
        }

        @Override
        public void book(long cost, long atMs) {
            move(atMs);
            long owed = Math.min(0, sum + cost);
            sum = Math.max(0, sum + cost);
            former = Math.max(0, former + owed);
        }

        @Override
        public long excess(long atMs) {
            return used(atMs, strict) - limit;
        }

        @Override
        public long inUse(long atMs) {
            return used(atMs, false);
        }

        @Override
        public boolean goesOnFrom(KeyUsageModel old, long atMs) {
            if (old instanceof Counter counter && counter.perMs == perMs) {
                window = counter.window;
                former = counter.former;
                sum = counter.sum;
                return true;
            }
            return false;
        }

        @Override
        public boolean isUnused(long atMs) {
            move(atMs);
            return former == 0 && sum == 0;
        }

        private long used(long atMs, boolean roundsUp) {
            move(atMs);
            long covered = Math.multiplyExact(former, perMs - Math.floorMod(atMs, perMs));
            return sum + (roundsUp ? -Math.floorDiv(-covered, perMs) : covered / perMs);
        }

        private void move(long atMs) {
            long now = Math.floorDiv(atMs, perMs);
            if (now != window) {
                former = now == window + 1 ? sum : 0;
                sum = 0;
                window = now;
            }
        }
    }

    /**
     * A token bucket, leaky bucket or GCRA: over every interval [a, b], the usage is at most the burst plus the refill.
     * With S the sum of the costs before, c the cost at a time, and F the refill since the start,
     *
     * <pre>
     *   S(b) + c(b) − F(b) − (S(a) − F(a))  ≤  burst      for all a ≤ b
     * </pre>
     *
     * <p>so only the minimum of S(a) − F(a) must be stored. All values are tokens times {@code per}, so nothing is
     * rounded. With {@code refill: interval}, time advances in steps of {@code per} from the first request on.
     */
    final class Rate implements KeyUsageModel {
        private final PolicyTerms terms;
        private final boolean inSteps;
        private long startMs;
        private long taken;
        private long least = Long.MAX_VALUE;

        Rate(PolicyTerms terms, long startMs) {
            this.terms = terms;
            this.startMs = startMs;
            inSteps = terms.algorithm().equals(PolicyTerms.INTERVAL);
        }

        @Override
        public void book(long cost, long atMs) {
            least = Math.min(least, taken - flown(atMs));
            taken = Math.addExact(taken, Math.multiplyExact(cost, terms.perMs()));
        }

        @Override
        public long excess(long atMs) {
            return level(atMs) - Math.multiplyExact(terms.burst(), terms.perMs());
        }

        @Override
        public long inUse(long atMs) {
            return level(atMs) / terms.perMs();
        }

        @Override
        public boolean goesOnFrom(KeyUsageModel old, long atMs) {
            if (!(old instanceof Rate rate) || rate.inSteps != inSteps || rate.terms.perMs() != terms.perMs()) {
                return false;
            }
            if (rate.terms.limit() == terms.limit()) {
                startMs = rate.startMs;
                taken = rate.taken;
                least = rate.least;
                return true;
            }
            if (inSteps) { // the steps keep their times
                startMs = atMs - Math.floorMod(atMs - rate.startMs, terms.perMs());
            }
            return false;
        }

        @Override
        public boolean isUnused(long atMs) {
            return level(atMs) == 0;
        }

        /** Returns the maximum of usage minus refill over all intervals that end now. */
        private long level(long atMs) {
            return least == Long.MAX_VALUE ? 0 : Math.max(0, taken - flown(atMs) - least);
        }

        private long flown(long atMs) {
            long ms = atMs - startMs;
            return Math.multiplyExact(inSteps ? ms - Math.floorMod(ms, terms.perMs()) : ms, terms.limit());
        }
    }
}
