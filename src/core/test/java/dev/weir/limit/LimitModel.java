package dev.weir.limit;

import java.time.LocalDate;
import java.time.ZoneId;
import java.time.temporal.IsoFields;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A reference model of a limit: a direct implementation of its definition with exact numbers, without regard to speed
 * or memory. The limits are compared with these models.
 */
public interface LimitModel {

    /** Returns the whole tokens available now, rounded down; negative while in debt. */
    long available(long nowMs);

    void charge(long cost, long nowMs);

    /** A denied cost counts up to one capacity beyond the limit; a log counts each one in full. */
    default void chargeDenied(long cost, Limit<?> limit, long nowMs) {
        charge(limit instanceof SlidingWindowLog ? cost : inReserve(cost, limit.capacity(), nowMs), nowMs);
    }

    /** Returns how much of a cost can be charged so that at most {@code maxDebt} tokens beyond the limit are in use. */
    default long inReserve(long cost, long maxDebt, long nowMs) {
        return Math.min(cost, Math.max(0, available(nowMs) + maxDebt));
    }

    /** Called for the first request; limits whose windows start there store its time. */
    default void open(long nowMs) {}

    /** Returns the model of the same limit with another number of tokens per window; both count the same usage. */
    default LimitModel withTokens(long tokens) {
        throw new UnsupportedOperationException("requests cannot override " + this);
    }

    /** Returns the model of a limit. */
    static LimitModel of(Limit<?> limit) {
        if (limit instanceof FixedWindow window) {
            return new OfFixedWindow(window.limit(), window.perMs());
        } else if (limit instanceof CalendarWindow window) {
            return new OfCalendarWindow(window.limit(), window.period(), window.zone());
        } else if (limit instanceof SlidingWindowLog log) {
            return new OfLog(log.limit(), log.perMs());
        } else if (limit instanceof SlidingWindowCounter counter) {
            return new OfCounter(counter.limit(), counter.perMs(), counter.strict());
        } else if (limit instanceof TokenBucket bucket) {
            return new OfTokenBucket(bucket.rate().tokens(), bucket.rate().perMs(), bucket.burst());
        } else if (limit instanceof LeakyBucket bucket) {
            return new OfLeakyBucket(bucket.rate().tokens(), bucket.rate().perMs(), bucket.burst());
        } else if (limit instanceof Gcra gcra) {
            return new OfGcra(gcra.rate().tokens(), gcra.rate().perMs(), gcra.burst());
        } else if (limit instanceof IntervalBucket bucket) {
            return new OfIntervalBucket(bucket.tokens(), bucket.perMs(), bucket.burst());
        }
        return new OfNothing(limit.capacity());
    }

    /** Returns the first time from now on at which the cost fits, found by testing each millisecond. */
    default long waitMs(long cost, long nowMs) {
        long waitMs = 0;
        while (available(nowMs + waitMs) < cost) {
            waitMs++;
        }
        return waitMs;
    }

    /** One count per window. */
    final class OfFixedWindow implements LimitModel {
        private final long limit;
        private final long perMs;
        private final Map<Long, Long> counts;

        OfFixedWindow(long limit, long perMs) {
            this(limit, perMs, new HashMap<>());
        }

        private OfFixedWindow(long limit, long perMs, Map<Long, Long> counts) {
            this.limit = limit;
            this.perMs = perMs;
            this.counts = counts;
        }

        @Override
        public LimitModel withTokens(long tokens) {
            return new OfFixedWindow(tokens, perMs, counts);
        }

        @Override
        public long available(long nowMs) {
            return limit - counts.getOrDefault(Math.floorDiv(nowMs, perMs), 0L);
        }

        @Override
        public void charge(long cost, long nowMs) {
            counts.merge(Math.floorDiv(nowMs, perMs), Math.max(0, cost), (count, more) -> Math.max(0, count + cost));
        }
    }

    /** One count for each day, week or month by its name, found by iterating over the dates. */
    final class OfCalendarWindow implements LimitModel {
        private final long limit;
        private final CalendarPeriod period;
        private final ZoneId zone;
        private final Map<String, Long> counts = new HashMap<>();

        OfCalendarWindow(long limit, CalendarPeriod period, ZoneId zone) {
            this.limit = limit;
            this.period = period;
            this.zone = zone;
        }

        @Override
        public long available(long nowMs) {
            return limit - counts.getOrDefault(name(dateOf(nowMs)), 0L);
        }

        @Override
        public void charge(long cost, long nowMs) {
            counts.merge(name(dateOf(nowMs)), Math.max(0, cost), (count, more) -> Math.max(0, count + cost));
        }

        @Override
        public long waitMs(long cost, long nowMs) {
            return available(nowMs) >= cost ? 0 : endMs(nowMs) - nowMs;
        }

        long startMs(long nowMs) {
            LocalDate date = dateOf(nowMs);
            while (name(date.minusDays(1)).equals(name(date))) {
                date = date.minusDays(1);
            }
            return startMs(date);
        }

        long endMs(long nowMs) {
            LocalDate date = dateOf(nowMs);
            LocalDate next = date.plusDays(1);
            while (name(next).equals(name(date))) {
                next = next.plusDays(1);
            }
            return startMs(next);
        }

        private LocalDate dateOf(long nowMs) {
            LocalDate date = LocalDate.ofEpochDay(Math.floorDiv(nowMs, 86_400_000L) - 3);
            while (startMs(date.plusDays(1)) <= nowMs) {
                date = date.plusDays(1);
            }
            return date;
        }

        private long startMs(LocalDate date) {
            return date.atStartOfDay(zone).toInstant().toEpochMilli();
        }

        private String name(LocalDate date) {
            return switch (period) {
                case DAY -> date.toString();
                case WEEK -> date.get(IsoFields.WEEK_BASED_YEAR) + "-W" + date.get(IsoFields.WEEK_OF_WEEK_BASED_YEAR);
                case MONTH -> date.getYear() + "-" + date.getMonth();
            };
        }
    }

    /** A list of all charges. */
    final class OfLog implements LimitModel {
        private record Entry(long atMs, long cost) {}

        private final long limit;
        private final long perMs;
        private final List<Entry> entries = new ArrayList<>();

        OfLog(long limit, long perMs) {
            this.limit = limit;
            this.perMs = perMs;
        }

        @Override
        public long available(long nowMs) {
            long live = 0;
            for (Entry entry : entries) {
                live += entry.atMs > nowMs - perMs ? entry.cost : 0;
            }
            return limit - live;
        }

        @Override
        public void charge(long cost, long nowMs) {
            if (cost > 0) {
                entries.add(new Entry(nowMs, cost));
            }
            long credit = -cost;
            for (int i = entries.size() - 1; i >= 0 && credit > 0 && entries.get(i).atMs > nowMs - perMs; i--) {
                Entry newest = entries.remove(i);
                if (newest.cost > credit) {
                    entries.add(new Entry(newest.atMs, newest.cost - credit));
                }
                credit -= newest.cost;
            }
        }
    }

    /** One count per window, with the previous one weighted by its share. */
    final class OfCounter implements LimitModel {
        private final long limit;
        private final long perMs;
        private final boolean strict;
        private final Map<Long, Long> counts;

        OfCounter(long limit, long perMs, boolean strict) {
            this(limit, perMs, strict, new HashMap<>());
        }

        private OfCounter(long limit, long perMs, boolean strict, Map<Long, Long> counts) {
            this.limit = limit;
            this.perMs = perMs;
            this.strict = strict;
            this.counts = counts;
        }

        @Override
        public LimitModel withTokens(long tokens) {
            return new OfCounter(tokens, perMs, strict, counts);
        }

        @Override
        public long available(long nowMs) {
            long window = Math.floorDiv(nowMs, perMs);
            long leftMs = perMs - Math.floorMod(nowMs, perMs);
            Fraction share = Fraction.of(counts.getOrDefault(window - 1, 0L)).times(Fraction.of(leftMs, perMs));
            return limit - counts.getOrDefault(window, 0L) - (strict ? share.ceiling() : share.floor());
        }

        @Override
        public void charge(long cost, long nowMs) {
            long window = Math.floorDiv(nowMs, perMs);
            long count = counts.getOrDefault(window, 0L) + cost;
            counts.put(window, Math.max(0, count));
            if (count < 0) { // the rest was used in the previous window
                counts.put(window - 1, Math.max(0, counts.getOrDefault(window - 1, 0L) + count));
            }
        }
    }

    /** The tokens, as a fraction. */
    final class OfTokenBucket implements LimitModel {
        private final Fraction perMs;
        private final Fraction burst;
        private Fraction tokens;
        private long atMs;

        OfTokenBucket(long limit, long perMs, long burst) {
            this.perMs = Fraction.of(limit, perMs);
            this.burst = Fraction.of(burst);
            this.tokens = this.burst;
        }

        private Fraction tokensAt(long nowMs) {
            return tokens.plus(perMs.times(Fraction.of(nowMs - atMs))).min(burst);
        }

        @Override
        public long available(long nowMs) {
            return tokensAt(nowMs).floor();
        }

        @Override
        public void charge(long cost, long nowMs) {
            tokens = tokensAt(nowMs).minus(Fraction.of(cost)).min(burst);
            atMs = nowMs;
        }
    }

    /** The level, as a fraction. */
    final class OfLeakyBucket implements LimitModel {
        private final Fraction leakPerMs;
        private final Fraction burst;
        private Fraction level = Fraction.ZERO;
        private long atMs;

        OfLeakyBucket(long limit, long perMs, long burst) {
            this.leakPerMs = Fraction.of(limit, perMs);
            this.burst = Fraction.of(burst);
        }

        private Fraction levelAt(long nowMs) {
            return level.minus(leakPerMs.times(Fraction.of(nowMs - atMs))).max(Fraction.ZERO);
        }

        @Override
        public long available(long nowMs) {
            return burst.minus(levelAt(nowMs)).floor();
        }

        @Override
        public void charge(long cost, long nowMs) {
            level = levelAt(nowMs).plus(Fraction.of(cost)).max(Fraction.ZERO);
            atMs = nowMs;
        }
    }

    /** The theoretical arrival time, as a fraction; the condition is that of the definition. */
    final class OfGcra implements LimitModel {
        private final Fraction emissionMs;
        private final Fraction burst;
        private Fraction tatMs = Fraction.ZERO;

        OfGcra(long limit, long perMs, long burst) {
            this.emissionMs = Fraction.of(perMs, limit);
            this.burst = Fraction.of(burst);
        }

        private boolean permits(long cost, long nowMs) {
            Fraction now = Fraction.of(nowMs);
            Fraction earliest =
                    tatMs.max(now).plus(emissionMs.times(Fraction.of(cost))).minus(emissionMs.times(burst));
            return now.compareTo(earliest) >= 0;
        }

        @Override
        public long available(long nowMs) {
            Fraction now = Fraction.of(nowMs);
            Fraction ahead = tatMs.max(now).minus(now);
            long guess = burst.minus(ahead.dividedBy(emissionMs)).floor();
            if (!permits(guess, nowMs) || permits(guess + 1, nowMs)) {
                throw new AssertionError(guess + " is not the largest cost that passes at " + nowMs);
            }
            return guess;
        }

        @Override
        public void charge(long cost, long nowMs) {
            Fraction now = Fraction.of(nowMs);
            tatMs = tatMs.max(now).plus(emissionMs.times(Fraction.of(cost))).max(now);
        }
    }

    /** Tokens that are added in steps after the first charge. */
    final class OfIntervalBucket implements LimitModel {
        private final long limit;
        private final long perMs;
        private final long burst;
        private long tokens;
        private Long stepMs;

        OfIntervalBucket(long limit, long perMs, long burst) {
            this.limit = limit;
            this.perMs = perMs;
            this.burst = burst;
            this.tokens = burst;
        }

        @Override
        public long available(long nowMs) {
            long then = tokens;
            for (long t = stepMs == null ? nowMs : stepMs; t + perMs <= nowMs && then < burst; t += perMs) {
                then = Math.min(burst, then + limit);
            }
            return then;
        }

        @Override
        public void open(long nowMs) {
            stepMs = stepMs == null ? (Long) nowMs : stepMs;
        }

        @Override
        public void charge(long cost, long nowMs) {
            if (cost != 0) {
                open(nowMs);
                while (stepMs + perMs <= nowMs) {
                    stepMs += perMs;
                    tokens = Math.min(burst, tokens + limit);
                }
                tokens = Math.min(burst, tokens - cost);
            }
        }
    }

    /** Counts nothing. */
    record OfNothing(long capacity) implements LimitModel {
        @Override
        public long available(long nowMs) {
            return capacity;
        }

        @Override
        public void charge(long cost, long nowMs) {}
    }
}
