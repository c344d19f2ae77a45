package dev.weir.limit;

import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The law of settlement by its definition: the whole history of a key, with each charge at its original time and its
 * cost as corrected so far, is replayed from the beginning for every question. Exact, and as slow as it sounds.
 */
public final class SettlementOracle {

    /** Something that happened at a time. A replay applies them in order. */
    private interface Event {
        void applyTo(Usage usage);
    }

    /** A charge, a refund, or a charge whose cost is corrected later. */
    private static final class Entry implements Event {
        final long atMs;
        long cost;

        Entry(long atMs, long cost) {
            this.atMs = atMs;
            this.cost = cost;
        }

        @Override
        public void applyTo(Usage usage) {
            usage.charge(atMs, BigInteger.valueOf(cost));
        }
    }

    private final List<Event> history = new ArrayList<>();
    private final Map<Long, Entry> open = new TreeMap<>();
    private final long openedMs;
    private final Limit<?> first;
    private Limit<?> limit;

    public SettlementOracle(Limit<?> limit, long nowMs) {
        this.first = limit;
        this.limit = limit;
        this.openedMs = nowMs;
    }

    /** Returns a limit of the same algorithm and rate or period, but of another capacity. */
    public static Limit<?> withCapacity(Limit<?> limit, long tokens) {
        if (limit instanceof TokenBucket bucket) {
            return new TokenBucket(bucket.rate(), tokens, bucket.countDenied());
        } else if (limit instanceof LeakyBucket bucket) {
            return new LeakyBucket(bucket.rate(), tokens, bucket.countDenied());
        } else if (limit instanceof Gcra gcra) {
            return new Gcra(gcra.rate(), tokens, gcra.countDenied());
        } else if (limit instanceof IntervalBucket bucket) {
            return new IntervalBucket(bucket.tokens(), bucket.perMs(), tokens, bucket.countDenied());
        } else if (limit instanceof SlidingWindowLog log) {
            return new SlidingWindowLog(tokens, log.perMs(), log.countDenied());
        } else if (limit instanceof CalendarWindow window) {
            return new CalendarWindow(tokens, window.period(), window.zone(), window.countDenied());
        } else if (limit instanceof SlidingWindowCounter counter) {
            return new SlidingWindowCounter(tokens, counter.perMs(), counter.strict(), counter.countDenied());
        } else if (limit instanceof Concurrency slots) {
            return new Concurrency(tokens, slots.ttlMs());
        }
        return ((FixedWindow) limit).withTokens(tokens, limit.windowMs(0));
    }

    public long available(long nowMs) {
        return limit.capacity() - used(nowMs);
    }

    /** Returns the whole tokens in use, rounded as the limit rounds. */
    public long used(long nowMs) {
        return replayed().used(nowMs).longValueExact();
    }

    private Usage replayed() {
        Usage usage = Usage.of(first, openedMs);
        history.forEach(event -> event.applyTo(usage));
        return usage;
    }

    public void charge(long cost, long nowMs) {
        history.add(new Entry(nowMs, cost));
    }

    public void chargeReserved(Charge charge) {
        Entry entry = new Entry(charge.atMs(), charge.cost());
        history.add(entry);
        open.put(charge.number(), entry);
    }

    public void forget(Charge charge) {
        open.remove(charge.number());
    }

    /** Replaces the cost of a charge, by the largest one up to the actual cost that leaves at most that much in use. */
    public void settle(Charge charge, long actualCost, long mostUsed, long nowMs) {
        Entry entry = open.remove(charge.number());
        long most = Math.max(mostUsed, used(nowMs));
        entry.cost = actualCost;
        while (entry.cost > charge.cost() && used(nowMs) > most) {
            entry.cost--;
        }
    }

    /** Changes the limit. At most {@code mostUsed} tokens remain in use, if the limit caps them. */
    public void change(Limit<?> next, long mostUsed, long nowMs) {
        history.add(usage -> usage.lower(nowMs, BigInteger.valueOf(mostUsed)));
        limit = next;
    }

    /** The usage of a limit while its history is replayed. */
    private abstract static class Usage {

        static Usage of(Limit<?> limit, long openedMs) {
            if (limit instanceof FixedWindow window) {
                return new CountedWindows(window.perMs(), 0, false, 0);
            } else if (limit instanceof CalendarWindow window) {
                long offset = window.zone().getRules().getOffset(Instant.EPOCH).getTotalSeconds() * 1_000L;
                return new CountedWindows(86_400_000, offset, false, 0); // days in a zone without daylight saving time
            } else if (limit instanceof SlidingWindowCounter counter) {
                return new CountedWindows(counter.perMs(), 0, true, counter.strict() ? counter.perMs() - 1 : 0);
            } else if (limit instanceof SlidingWindowLog log) {
                return new Entries(log.perMs());
            } else if (limit instanceof ContinuousBucket bucket) {
                return new Bucket(bucket.rate().tokens(), bucket.rate().perMs(), 1, openedMs);
            } else if (limit instanceof Gcra gcra) {
                return new Bucket(gcra.rate().tokens(), gcra.rate().perMs(), 1, openedMs);
            } else if (limit instanceof IntervalBucket bucket) {
                return new Bucket(bucket.tokens(), 1, bucket.perMs(), openedMs);
            }
            throw new IllegalArgumentException("no usage of " + limit);
        }

        abstract void charge(long atMs, BigInteger cost);

        abstract BigInteger used(long nowMs);

        abstract void lower(long nowMs, BigInteger most);
    }

    /** A level that sinks by {@code tokens} in each step; a token has {@code parts} parts. */
    private static final class Bucket extends Usage {
        private final BigInteger tokens;
        private final BigInteger parts;
        private final long stepMs;
        private final long openedMs;
        private BigInteger level = BigInteger.ZERO;
        private long steps;

        Bucket(long tokens, long parts, long stepMs, long openedMs) {
            this.tokens = BigInteger.valueOf(tokens);
            this.parts = BigInteger.valueOf(parts);
            this.stepMs = stepMs;
            this.openedMs = openedMs;
        }

        private void sink(long nowMs) {
            long until = (nowMs - openedMs) / stepMs;
            level = level.subtract(tokens.multiply(BigInteger.valueOf(until - steps)))
                    .max(BigInteger.ZERO);
            steps = until;
        }

        @Override
        void charge(long atMs, BigInteger cost) {
            sink(atMs);
            level = level.add(cost.multiply(parts)).max(BigInteger.ZERO);
        }

        @Override
        BigInteger used(long nowMs) {
            sink(nowMs);
            return level.add(parts).subtract(BigInteger.ONE).divide(parts);
        }

        @Override
        void lower(long nowMs, BigInteger most) {
            sink(nowMs);
            level = level.min(most.multiply(parts));
        }
    }

    /** The sum of each window; a sliding window counter weighs that of the previous one. */
    private static final class CountedWindows extends Usage {
        private final long perMs;
        private final long offsetMs;
        private final boolean weighsPrevious;
        private final BigInteger rounding;
        private final Map<Long, BigInteger> sums = new TreeMap<>();

        CountedWindows(long perMs, long offsetMs, boolean weighsPrevious, long rounding) {
            this.perMs = perMs;
            this.offsetMs = offsetMs;
            this.weighsPrevious = weighsPrevious;
            this.rounding = BigInteger.valueOf(rounding);
        }

        private long window(long atMs) {
            return Math.floorDiv(atMs + offsetMs, perMs);
        }

        private BigInteger sum(long window) {
            return sums.getOrDefault(window, BigInteger.ZERO);
        }

        @Override
        void charge(long atMs, BigInteger cost) {
            sums.merge(window(atMs), cost, BigInteger::add);
        }

        @Override
        BigInteger used(long nowMs) {
            long now = window(nowMs);
            long leftMs = (now + 1) * perMs - offsetMs - nowMs;
            BigInteger share = weighsPrevious
                    ? sum(now - 1)
                            .multiply(BigInteger.valueOf(leftMs))
                            .add(rounding)
                            .divide(BigInteger.valueOf(perMs))
                    : BigInteger.ZERO;
            return sum(now).add(share);
        }

        @Override
        void lower(long nowMs, BigInteger most) {
            if (weighsPrevious) { // other windows keep all usage
                sums.put(window(nowMs), sum(window(nowMs)).min(most));
            }
        }
    }

    /** The sum of all entries of the sliding window. A refund is taken from the newest ones. */
    private static final class Entries extends Usage {
        private final long perMs;
        private final TreeMap<Long, BigInteger> costs = new TreeMap<>();

        Entries(long perMs) {
            this.perMs = perMs;
        }

        @Override
        void charge(long atMs, BigInteger cost) {
            if (cost.signum() >= 0) {
                costs.merge(atMs, cost, BigInteger::add);
                return;
            }
            BigInteger left = cost.negate();
            for (Map.Entry<Long, BigInteger> entry :
                    costs.tailMap(atMs - perMs, false).descendingMap().entrySet()) {
                BigInteger part = left.min(entry.getValue());
                entry.setValue(entry.getValue().subtract(part));
                left = left.subtract(part);
            }
        }

        @Override
        BigInteger used(long nowMs) {
            return costs.tailMap(nowMs - perMs, false).values().stream().reduce(BigInteger.ZERO, BigInteger::add);
        }

        @Override
        void lower(long nowMs, BigInteger most) {} // keeps all usage
    }
}
