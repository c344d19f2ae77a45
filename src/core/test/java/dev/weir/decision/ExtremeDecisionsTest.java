package dev.weir.decision;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitOracle;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares decisions with the largest possible limits, costs and debts with {@link LimitOracle}. */
class ExtremeDecisionsTest {

    private static final int TABLES = 400;
    private static final int REQUESTS = 25;

    private static BigInteger big(long number) {
        return BigInteger.valueOf(number);
    }

    /** One layer: its policy and what its limits have counted. */
    private static final class Layer {
        final Policy policy;
        final List<LimitOracle> limits;
        long lastMs = Long.MIN_VALUE;

        Layer(Policy policy) {
            this.policy = policy;
            limits = policy.terms().stream()
                    .map(term -> LimitOracle.of(term.limit()))
                    .toList();
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
        LimitOracle oracle() {
            return layer.limits.get(index);
        }

        Policy.Term term() {
            return layer.policy.terms().get(index);
        }

        boolean permits(BigInteger cost, long nowMs) {
            return cost.signum() <= 0 || cost.compareTo(oracle().available(big(nowMs))) <= 0;
        }

        /** Null for never. */
        BigInteger retryMs(BigInteger cost, long nowMs) {
            return cost.compareTo(oracle().capacity()) > 0 ? null : oracle().waitMs(cost, big(nowMs));
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
                binding.oracle().waitMs(binding.oracle().capacity(), big(nowMs)));
    }

    private static BigInteger remaining(Place place, long nowMs) {
        return place.oracle().available(big(nowMs)).max(BigInteger.ZERO);
    }

    private static void charge(Place place, BigInteger cost, boolean settles, boolean refused, long nowMs) {
        LimitOracle oracle = place.oracle();
        BigInteger charged = cost;
        if (refused && !place.term().limit().countDenied()) {
            return;
        }
        if (refused || settles) {
            BigInteger mostDebt = refused ? oracle.capacity() : big(place.term().maxDebt());
            BigInteger available = mostDebt.add(oracle.available(big(nowMs)));
            charged = cost.min(available.max(BigInteger.ZERO));
        }
        if (charged.signum() != 0) {
            oracle.charge(charged, big(nowMs));
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
        return Request.builder("r", "c")
                .kind(settles ? RequestKind.SETTLE : RequestKind.CONSUME)
                .cost(settles && random.nextInt(3) == 0 ? -cost : cost)
                .timestampMs(atMs)
                .source(0, 0)
                .build();
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
