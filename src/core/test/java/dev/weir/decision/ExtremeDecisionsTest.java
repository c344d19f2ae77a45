package dev.weir.decision;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.ContinuousBucket;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares decisions with the largest possible limits, costs and debts with an oracle that implements the definitions
 * of the algorithms in {@link BigInteger}.
 */
class ExtremeDecisionsTest {

    private static final int TABLES = 400;
    private static final int REQUESTS = 25;

    /** What one limit has counted. Times do not decrease. */
    private abstract static class Counted {
        final BigInteger capacity;

        Counted(long capacity) {
            this.capacity = big(capacity);
        }

        abstract BigInteger available(long nowMs);

        abstract void charge(BigInteger cost, long nowMs);

        void open(long nowMs) {}

        /** Returns the wait for a cost of at most the capacity. */
        abstract BigInteger waitMs(BigInteger cost, long nowMs);

        final BigInteger used(long nowMs) {
            return capacity.subtract(available(nowMs));
        }
    }

    /** Counts in units, of which {@code perMs} make a token and {@code tokens} flow per millisecond. */
    private static final class Bucket extends Counted {
        private final BigInteger tokens;
        private final BigInteger perMs;
        private BigInteger parts = BigInteger.ZERO;
        private long atMs;

        Bucket(Rate rate, long burst) {
            super(burst);
            tokens = big(rate.tokens());
            perMs = big(rate.perMs());
        }

        private BigInteger partsAt(long nowMs) {
            return parts.subtract(tokens.multiply(big(nowMs - atMs))).max(BigInteger.ZERO);
        }

        @Override
        BigInteger available(long nowMs) {
            return floor(capacity.multiply(perMs).subtract(partsAt(nowMs)), perMs);
        }

        @Override
        void charge(BigInteger cost, long nowMs) {
            parts = partsAt(nowMs).add(cost.multiply(perMs)).max(BigInteger.ZERO);
            atMs = nowMs;
        }

        @Override
        BigInteger waitMs(BigInteger cost, long nowMs) {
            BigInteger room = capacity.subtract(cost).multiply(perMs);
            return ceiling(partsAt(nowMs).subtract(room).max(BigInteger.ZERO), tokens);
        }
    }

    private static final class Steps extends Counted {
        private final BigInteger tokens;
        private final BigInteger perMs;
        private BigInteger used = BigInteger.ZERO;
        private BigInteger stepMs;

        Steps(IntervalBucket bucket) {
            super(bucket.burst());
            tokens = big(bucket.tokens());
            perMs = big(bucket.perMs());
        }

        /** The first request that is charged is step zero. */
        @Override
        void open(long nowMs) {
            stepMs = stepMs == null ? big(nowMs) : stepMs;
        }

        private void advance(long nowMs) {
            if (stepMs == null) {
                return;
            }
            BigInteger steps = floor(big(nowMs).subtract(stepMs), perMs);
            used = used.subtract(steps.multiply(tokens)).max(BigInteger.ZERO);
            stepMs = stepMs.add(steps.multiply(perMs));
        }

        @Override
        BigInteger available(long nowMs) {
            advance(nowMs);
            return capacity.subtract(used);
        }

        @Override
        void charge(BigInteger cost, long nowMs) {
            open(nowMs);
            advance(nowMs);
            used = used.add(cost).max(BigInteger.ZERO);
        }

        @Override
        BigInteger waitMs(BigInteger cost, long nowMs) {
            advance(nowMs);
            BigInteger steps = ceiling(used.subtract(capacity.subtract(cost)), tokens);
            return steps.signum() <= 0
                    ? BigInteger.ZERO
                    : stepMs.add(steps.multiply(perMs)).subtract(big(nowMs));
        }
    }

    private static final class Fixed extends Counted {
        private final long perMs;
        private long window = Long.MIN_VALUE;
        private BigInteger count = BigInteger.ZERO;

        Fixed(FixedWindow limit) {
            super(limit.limit());
            perMs = limit.perMs();
        }

        @Override
        BigInteger available(long nowMs) {
            return Math.floorDiv(nowMs, perMs) == window ? capacity.subtract(count) : capacity;
        }

        @Override
        void charge(BigInteger cost, long nowMs) {
            count = used(nowMs).add(cost).max(BigInteger.ZERO);
            window = Math.floorDiv(nowMs, perMs);
        }

        @Override
        BigInteger waitMs(BigInteger cost, long nowMs) {
            return cost.compareTo(available(nowMs)) <= 0 ? BigInteger.ZERO : big(perMs - Math.floorMod(nowMs, perMs));
        }
    }

    private static final class Log extends Counted {
        private record Entry(long atMs, BigInteger cost) {}

        private final long perMs;
        private final List<Entry> entries = new ArrayList<>();

        Log(SlidingWindowLog limit) {
            super(limit.limit());
            perMs = limit.perMs();
        }

        @Override
        BigInteger available(long nowMs) {
            BigInteger live = BigInteger.ZERO;
            for (Entry entry : entries) {
                live = nowMs - entry.atMs < perMs ? live.add(entry.cost) : live;
            }
            return capacity.subtract(live);
        }

        @Override
        void charge(BigInteger cost, long nowMs) {
            if (cost.signum() > 0) {
                entries.add(new Entry(nowMs, cost));
            }
            BigInteger credit = cost.negate();
            for (int i = entries.size() - 1; i >= 0 && credit.signum() > 0; i--) {
                Entry newest = entries.get(i);
                if (nowMs - newest.atMs < perMs) {
                    entries.set(
                            i,
                            new Entry(newest.atMs, newest.cost.subtract(credit).max(BigInteger.ZERO)));
                    credit = credit.subtract(newest.cost);
                }
            }
        }

        @Override
        BigInteger waitMs(BigInteger cost, long nowMs) {
            if (cost.compareTo(available(nowMs)) <= 0) {
                return BigInteger.ZERO;
            }
            return entries.stream()
                    .map(entry -> big(entry.atMs).add(big(perMs)))
                    .filter(atMs ->
                            atMs.compareTo(big(nowMs)) > 0 && cost.compareTo(available(atMs.longValueExact())) <= 0)
                    .min(BigInteger::compareTo)
                    .orElseThrow()
                    .subtract(big(nowMs));
        }
    }

    private static final class Estimate extends Counted {
        private final BigInteger perMs;
        private final boolean strict;
        private BigInteger window = BigInteger.valueOf(Long.MIN_VALUE);
        private BigInteger previous = BigInteger.ZERO;
        private BigInteger current = BigInteger.ZERO;

        Estimate(SlidingWindowCounter limit) {
            super(limit.limit());
            perMs = big(limit.perMs());
            strict = limit.strict();
        }

        private BigInteger elapsed(BigInteger nowMs) {
            return nowMs.mod(perMs);
        }

        private BigInteger[] windowsAt(BigInteger nowMs) {
            BigInteger later = floor(nowMs, perMs).subtract(window);
            return later.signum() == 0
                    ? new BigInteger[] {previous, current}
                    : new BigInteger[] {later.equals(BigInteger.ONE) ? current : BigInteger.ZERO, BigInteger.ZERO};
        }

        private BigInteger available(BigInteger nowMs) {
            BigInteger[] windows = windowsAt(nowMs);
            BigInteger weighed = windows[0].multiply(perMs.subtract(elapsed(nowMs)));
            BigInteger share = strict ? ceiling(weighed, perMs) : floor(weighed, perMs);
            return capacity.subtract(windows[1]).subtract(share);
        }

        @Override
        BigInteger available(long nowMs) {
            return available(big(nowMs));
        }

        @Override
        void charge(BigInteger cost, long nowMs) {
            BigInteger[] windows = windowsAt(big(nowMs));
            window = floor(big(nowMs), perMs);
            BigInteger sum = windows[1].add(cost);
            current = sum.max(BigInteger.ZERO);
            previous = windows[0].add(sum.min(BigInteger.ZERO)).max(BigInteger.ZERO);
        }

        /** Bisects, since what is available never decreases while nothing is charged. */
        @Override
        BigInteger waitMs(BigInteger cost, long nowMs) {
            BigInteger low = BigInteger.ZERO;
            BigInteger high = perMs.shiftLeft(1);
            while (low.compareTo(high) < 0) {
                BigInteger middle = low.add(high).shiftRight(1);
                if (cost.compareTo(available(big(nowMs).add(middle))) <= 0) {
                    high = middle;
                } else {
                    low = middle.add(BigInteger.ONE);
                }
            }
            return low;
        }
    }

    private static Counted counted(Limit<?> limit) {
        if (limit instanceof ContinuousBucket bucket) {
            return new Bucket(bucket.rate(), bucket.burst());
        } else if (limit instanceof Gcra gcra) {
            return new Bucket(gcra.rate(), gcra.burst());
        } else if (limit instanceof IntervalBucket bucket) {
            return new Steps(bucket);
        } else if (limit instanceof SlidingWindowLog log) {
            return new Log(log);
        } else if (limit instanceof SlidingWindowCounter counter) {
            return new Estimate(counter);
        }
        return new Fixed((FixedWindow) limit);
    }

    private static BigInteger big(long number) {
        return BigInteger.valueOf(number);
    }

    private static BigInteger floor(BigInteger dividend, BigInteger divisor) {
        BigInteger[] parts = dividend.divideAndRemainder(divisor);
        return parts[1].signum() < 0 ? parts[0].subtract(BigInteger.ONE) : parts[0];
    }

    private static BigInteger ceiling(BigInteger dividend, BigInteger divisor) {
        return floor(dividend.negate(), divisor).negate();
    }

    /** One layer: its policy and what its limits have counted. */
    private static final class Layer {
        final Policy policy;
        final List<Counted> limits;
        long lastMs = Long.MIN_VALUE;

        Layer(Policy policy) {
            this.policy = policy;
            limits = policy.terms().stream().map(term -> counted(term.limit())).toList();
        }
    }

    /** The compared parts of a decision. */
    private record Expected(
            Outcome outcome, String limitedBy, BigInteger remaining, BigInteger retry, BigInteger reset) {

        static Expected of(Decision decision) {
            return new Expected(
                    decision.outcome(),
                    decision.limitedBy(),
                    big(decision.remaining()),
                    decision.retryAfterMs() == null ? null : big(decision.retryAfterMs()),
                    big(decision.resetAfterMs()));
        }
    }

    private record Place(Layer layer, int index) {
        Counted counted() {
            return layer.limits.get(index);
        }

        Policy.Term term() {
            return layer.policy.terms().get(index);
        }

        boolean permits(BigInteger cost, long nowMs) {
            return cost.signum() <= 0 || cost.compareTo(counted().available(nowMs)) <= 0;
        }

        /** Null for never. */
        BigInteger retryMs(BigInteger cost, long nowMs) {
            return cost.compareTo(counted().capacity) > 0 ? null : counted().waitMs(cost, nowMs);
        }
    }

    private static Expected decide(Request request, List<Layer> layers) {
        long nowMs = request.timestampMs();
        for (Layer layer : layers) {
            nowMs = Math.max(nowMs, layer.lastMs);
        }
        BigInteger cost = big(request.cost());
        List<Place> places = new ArrayList<>();
        for (Layer layer : layers) {
            for (int i = 0; i < layer.limits.size(); i++) {
                places.add(new Place(layer, i));
            }
        }
        boolean settles = request.kind() == RequestKind.SETTLE;
        boolean refused = false;
        for (Place place : places) {
            refused |= !settles && !place.permits(cost, nowMs);
        }
        for (Place place : places) {
            charge(place, cost, settles, refused, nowMs);
        }
        Place binding = null;
        for (Place place : places) {
            if (refused && !place.permits(cost, nowMs)) {
                BigInteger retry = place.retryMs(cost, nowMs);
                BigInteger longest = binding == null ? null : binding.retryMs(cost, nowMs);
                boolean isLonger =
                        binding == null || (longest != null && (retry == null || retry.compareTo(longest) > 0));
                binding = isLonger ? place : binding;
            } else if (!refused) {
                boolean isLess = binding == null || remaining(place, nowMs).compareTo(remaining(binding, nowMs)) < 0;
                binding = isLess ? place : binding;
            }
        }
        return new Expected(
                refused ? Outcome.DENIED : Outcome.ALLOWED,
                binding.term().label(),
                remaining(binding, nowMs),
                refused ? binding.retryMs(cost, nowMs) : BigInteger.ZERO,
                binding.counted().waitMs(binding.counted().capacity, nowMs));
    }

    private static BigInteger remaining(Place place, long nowMs) {
        return place.counted().available(nowMs).max(BigInteger.ZERO);
    }

    private static void charge(Place place, BigInteger cost, boolean settles, boolean refused, long nowMs) {
        Counted counted = place.counted();
        BigInteger charged = cost;
        if (refused && !place.term().limit().countDenied()) {
            return;
        }
        if (refused || settles) {
            BigInteger mostDebt = refused ? counted.capacity : big(place.term().maxDebt());
            BigInteger room = counted.capacity.add(mostDebt).subtract(counted.used(nowMs));
            charged = cost.min(room.max(BigInteger.ZERO));
        }
        if (charged.signum() != 0) {
            counted.charge(charged, nowMs);
            place.layer.lastMs = nowMs;
            place.layer.limits.forEach(limit -> limit.open(nowMs));
        }
    }

    private static Limit<?> limit(SplittableRandom random) {
        while (true) {
            try {
                long limit = number(random);
                long perMs = number(random);
                long burst = random.nextBoolean() ? limit : number(random);
                boolean countDenied = random.nextInt(4) == 0;
                return switch (random.nextInt(7)) {
                    case 0 -> new FixedWindow(limit, perMs, countDenied);
                    case 1 -> new SlidingWindowLog(limit, Math.min(perMs, 1L << 60), false);
                    case 2 -> new SlidingWindowCounter(limit, perMs, random.nextBoolean(), countDenied);
                    case 3 -> new TokenBucket(Rate.of(limit, perMs), burst, countDenied);
                    case 4 -> new LeakyBucket(Rate.of(limit, perMs), burst, countDenied);
                    case 5 -> new Gcra(Rate.of(limit, perMs), burst, countDenied);
                    default -> new IntervalBucket(limit, Math.max(perMs, 1L << 36), burst, countDenied);
                };
            } catch (IllegalArgumentException tooLarge) {
                // try another one
            }
        }
    }

    /** Returns a number of random magnitude, often next to a power of two. */
    private static long number(SplittableRandom random) {
        long power = 1L << random.nextInt(62);
        return Math.max(1, random.nextBoolean() ? power + random.nextInt(3) - 1 : random.nextLong(power) + 1);
    }

    private static Request request(SplittableRandom random, long atMs) {
        boolean settles = random.nextInt(4) == 0;
        long cost = number(random) - 1;
        return new Request(
                "r",
                "c",
                settles ? RequestKind.SETTLE : RequestKind.CONSUME,
                null,
                settles && random.nextInt(3) == 0 ? -cost : cost,
                null,
                Map.of(),
                null,
                null,
                null,
                atMs,
                new Request.Source(0, 0));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void decisions_of_two_layers_are_those_of_unbounded_arithmetic(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int different = 0;
        List<String> examples = new ArrayList<>();
        for (int i = 0; i < TABLES; i++) {
            Policy one = Samples.inLayer("a", Samples.policy("a", limit(random), limit(random)));
            Policy other = Samples.inLayer("b", Samples.policy("b", limit(random)));
            List<Layer> layers = List.of(new Layer(one), new Layer(other));
            PolicyTable table = Samples.table(one, other);
            MapStates states = new MapStates();
            long atMs = 1_700_000_000_000L;
            for (int j = 0; j < REQUESTS; j++) {
                atMs += random.nextInt(3) == 0 ? 0 : random.nextLong(1L << random.nextInt(1, 30));
                Request request = request(random, atMs);
                Expected expected = decide(request, layers);
                Expected decided = Expected.of((Decision) Decider.local(states).decide(request, table));
                if (!decided.equals(expected)) {
                    different++;
                    examples.add("table " + i + ", request " + j + ": " + request + "\n  by " + one + other + "\n  was "
                            + decided + "\n  not " + expected);
                    break;
                }
            }
        }
        assertThat(different)
                .as("of %d tables; %s", TABLES, examples.isEmpty() ? "" : examples.get(0))
                .isZero();
    }
}
