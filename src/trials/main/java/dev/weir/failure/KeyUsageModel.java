package dev.weir.failure;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * What one key has taken of one limit, by the limit's definition and nothing else. Times do not run backwards; what is
 * given back (a cost below 0) is taken off the newest use first, and never makes more room than there is.
 */
sealed interface KeyUsageModel {

    /** Notes a cost, without asking. */
    void book(long cost, long atMs);

    /** By how much more than the limit is in use now, in a unit of its own; 0 or less if it is kept. */
    long excess(long atMs);

    /** Whole tokens in use, rounded down. */
    long inUse(long atMs);

    /** Whether nothing at all is in use, so that there is nothing to give back. */
    default boolean isUnused(long atMs) {
        return inUse(atMs) == 0;
    }

    /** One that has taken nothing. */
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
            default -> throw new IllegalArgumentException("no such algorithm: " + terms);
        };
    }

    /**
     * The same under other terms of the algorithm. What was used stays used, with its times where they mean the same;
     * else what is in use, in whole tokens, counts as taken now. The enforcer rounds up where this rounds down, so it
     * may admit no more than this allows.
     */
    default KeyUsageModel under(PolicyTerms terms, long atMs) {
        KeyUsageModel next = of(terms, atMs);
        boolean goesOn = next.goesOnFrom(this, atMs);
        if (!goesOn && terms.counts()) {
            next.book(inUse(atMs), atMs);
        }
        long most = terms.counts() && waitGrows(terms) ? terms.capacity() : Long.MAX_VALUE;
        next.book(Math.min(0, most - 1 - next.inUse(atMs)), atMs); // what is in use is rounded down
        return next;
    }

    /** Whether the wait grows with what is in use: then a change carries over one full limit at most. */
    private static boolean waitGrows(PolicyTerms terms) {
        return !terms.algorithm().equals("fixed-window") && !terms.algorithm().equals("sliding-window-log");
    }

    /**
     * Notes a cost that is charged though it does not fit: up to one capacity beyond the limit, for a denial that
     * counts in a log all of it. Below zero it is given back. What is in use is rounded down here, so one token less
     * may be charged than by the enforcer.
     *
     * @return how much of the cost was noted
     */
    default long bookBeyond(PolicyTerms terms, long cost, boolean isDenial, long atMs) {
        boolean isBounded = terms.counts() && !(isDenial && terms.algorithm().equals("sliding-window-log"));
        long room = isBounded ? Math.max(0, 2 * terms.capacity() - inUse(atMs) - 1) : Long.MAX_VALUE;
        long booked = Math.min(cost, room);
        book(booked, atMs);
        return booked;
    }

    /** Takes over what another has counted, if that means the same here. */
    boolean goesOnFrom(KeyUsageModel old, long atMs);

    /** Without a limit. */
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

    /** Each aligned window: its sum is at most the limit. */
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

    /** Each window (t − per, t]: its sum is at most the limit. */
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
                log.slide(atMs); // what has left the old window does not come back in a longer one
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

    /** In each pair of windows: the share of the former that the sliding one still covers, and the latter's sum. */
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
     * Over every interval [a, b], what is taken is at most the burst and what flows meanwhile. With S the sum of what
     * was taken before, F what has flown since the beginning,
     *
     * <pre>
     *   S(b) + c(b) − F(b) − (S(a) − F(a))  ≤  burst      for all a ≤ b
     * </pre>
     *
     * <p>so the least S(a) − F(a) so far is all there is to remember. All in tokens times per, so nothing is rounded;
     * with {@code refill: interval}, time goes in steps of per, counted from the first request.
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
            if (inSteps) { // steps fall when they fell
                startMs = atMs - Math.floorMod(atMs - rate.startMs, terms.perMs());
            }
            return false;
        }

        @Override
        public boolean isUnused(long atMs) {
            return level(atMs) == 0;
        }

        /** The most that any interval up to now has taken beyond what has flown in it. */
        private long level(long atMs) {
            return least == Long.MAX_VALUE ? 0 : Math.max(0, taken - flown(atMs) - least);
        }

        private long flown(long atMs) {
            long ms = atMs - startMs;
            return Math.multiplyExact(inSteps ? ms - Math.floorMod(ms, terms.perMs()) : ms, terms.limit());
        }
    }
}
