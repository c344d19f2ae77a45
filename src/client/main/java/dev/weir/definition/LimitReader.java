package dev.weir.definition;

import dev.weir.definition.PeriodReader.Calendar;
import dev.weir.definition.PeriodReader.Duration;
import dev.weir.definition.PeriodReader.Per;
import dev.weir.limit.Blocked;
import dev.weir.limit.CalendarWindow;
import dev.weir.limit.Concurrency;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.limit.Unlimited;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.Policy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Reads one limit of a policy. */
final class LimitReader {

    static final List<String> KEYS = List.of(
            "algorithm", "limit", "per", "timezone", "burst", "refill", "strict", "count-denied", "ttl", "unlimited");

    private static final String FIXED_WINDOW = "fixed-window";
    private static final String CONCURRENCY = "concurrency";
    private static final Map<String, Boolean> REFILL_IS_INTERVAL = new LinkedHashMap<>();

    static {
        REFILL_IS_INTERVAL.put("continuous", false);
        REFILL_IS_INTERVAL.put("interval", true);
    }

    /** The values of the keys of a limit. Only a fixed window can have a calendar period. */
    private record Terms(long limit, Per per, long burst, boolean interval, boolean strict, boolean countDenied) {
        long perMs() {
            return ((Duration) per).ms();
        }

        Rate rate() {
            return Rate.of(limit, perMs());
        }

        Limit<?> fixedWindow() {
            return per instanceof Calendar calendar
                    ? new CalendarWindow(limit, calendar.period(), calendar.zone(), countDenied)
                    : new FixedWindow(limit, perMs(), countDenied);
        }
    }

    /** Creates a limit and its label from the keys of a limit; null if they have a fault. */
    private interface Algorithm {
        Policy.Term read(YamlTree tree, String name);
    }

    /** Creates a limit that permits a number of tokens per period. */
    private interface RateAlgorithm {
        Limit<?> of(Terms terms);
    }

    private static final Map<String, Algorithm> ALGORITHMS = new LinkedHashMap<>();

    static {
        put(FIXED_WINDOW, Terms::fixedWindow);
        put("sliding-window-log", t -> new SlidingWindowLog(t.limit, t.perMs(), t.countDenied));
        put("sliding-window-counter", t -> new SlidingWindowCounter(t.limit, t.perMs(), t.strict, t.countDenied));
        put(
                "token-bucket",
                t -> t.interval
                        ? new IntervalBucket(t.limit, t.perMs(), t.burst, t.countDenied)
                        : new TokenBucket(t.rate(), t.burst, t.countDenied));
        put("leaky-bucket", t -> new LeakyBucket(t.rate(), t.burst, t.countDenied));
        put("gcra", t -> new Gcra(t.rate(), t.burst, t.countDenied));
        ALGORITHMS.put(CONCURRENCY, (tree, name) -> concurrency(tree));
    }

    /** Keys that apply only to some algorithms. */
    private static final Map<String, Set<String>> KEYS_OF_ALGORITHMS = Map.of(
            "timezone", Set.of(FIXED_WINDOW),
            "burst", Set.of("token-bucket", "leaky-bucket", "gcra"),
            "refill", Set.of("token-bucket"),
            "strict", Set.of("sliding-window-counter"),
            "ttl", Set.of(CONCURRENCY));

    /** Keys that do not apply to a limit of concurrency, and what to use instead. */
    private static final Map<String, String> NOT_OF_CONCURRENCY = Map.of(
            "per", "; set ttl, the longest time that a slot is in use",
            "burst", "; limit is the most slots in use at once",
            "count-denied", ": a denied request takes no slot; add a limit of another algorithm to count it");

    private LimitReader() {}

    /** Returns the limit and its label, or null if it has a fault. */
    static Policy.Term read(YamlTree tree) {
        tree.fields(KEYS);
        Boolean unlimited = tree.get("unlimited").flag();
        return Boolean.TRUE.equals(unlimited) ? unlimited(tree) : limited(tree);
    }

    private static Policy.Term unlimited(YamlTree tree) {
        for (String key : KEYS) {
            if (!key.equals("unlimited") && tree.get(key).isPresent()) {
                tree.get(key).fault("must not be set if unlimited is true");
            }
        }
        return new Policy.Term("unlimited", new Unlimited());
    }

    private static void put(String name, RateAlgorithm algorithm) {
        ALGORITHMS.put(name, (tree, itself) -> rate(tree, itself, algorithm));
    }

    private static Policy.Term limited(YamlTree tree) {
        Algorithm algorithm = tree.require("algorithm").oneOf(ALGORITHMS);
        String name = algorithm == null ? null : tree.get("algorithm").text();
        requireApplicable(tree, name);
        return algorithm == null ? rate(tree, null, null) : algorithm.read(tree, name);
    }

    private static Policy.Term concurrency(YamlTree tree) {
        Long limit = tree.require("limit").wholeNumber(0, Concurrency.MAX_LIMIT);
        boolean blocked = limit != null && limit == 0;
        Long ttlMs = (blocked ? tree.get("ttl") : tree.require("ttl")).read(LimitReader::ttlMs);
        if (blocked) {
            return new Policy.Term(CONCURRENCY + " 0", new Blocked());
        }
        return limit == null || ttlMs == null
                ? null
                : new Policy.Term(
                        CONCURRENCY + " " + limit + " ttl " + DurationsAndSizes.duration(ttlMs),
                        new Concurrency(limit, ttlMs));
    }

    private static long ttlMs(String text) {
        long ms = DurationsAndSizes.durationMs(text);
        if (ms > Concurrency.MAX_TTL_MS) {
            throw new IllegalArgumentException("must be 1ms to 30d, is '" + text + "'");
        }
        return ms;
    }

    /** @param algorithm null if it has a fault, in which case the other keys are checked only */
    private static Policy.Term rate(YamlTree tree, String name, RateAlgorithm algorithm) {
        Long limit = tree.require("limit")
                .wholeNumber(0, Limit.MAX_CAPACITY, FractionHint.of(tree.get("limit"), tree.get("per")));
        boolean blocked = limit != null && limit == 0;
        Per per = per(blocked ? tree.get("per") : tree.require("per"), tree.get("timezone"), name);
        Long burst = burst(tree.get("burst"), blocked);
        boolean interval = Boolean.TRUE.equals(tree.get("refill").oneOf(REFILL_IS_INTERVAL));
        boolean strict = Boolean.TRUE.equals(tree.get("strict").flag());
        boolean countDenied = Boolean.TRUE.equals(tree.get("count-denied").flag());
        if (algorithm == null || limit == null || (per == null && !blocked)) {
            return null;
        }
        if (blocked) {
            return new Policy.Term(name + " 0", new Blocked());
        }
        Terms terms = new Terms(limit, per, burst == null ? limit : burst, interval, strict, countDenied);
        Limit<?> made = tree.noting(() -> algorithm.of(terms));
        return made == null ? null : new Policy.Term(label(name, terms), made);
    }

    private static void requireApplicable(YamlTree tree, String algorithm) {
        for (String key : KEYS) {
            String alternative = CONCURRENCY.equals(algorithm) ? NOT_OF_CONCURRENCY.get(key) : null;
            boolean applies = algorithm == null
                    || alternative == null
                            && (!KEYS_OF_ALGORITHMS.containsKey(key)
                                    || KEYS_OF_ALGORITHMS.get(key).contains(algorithm));
            if (!applies && tree.get(key).isPresent()) {
                tree.get(key).fault("does not apply to " + algorithm + (alternative == null ? "" : alternative));
            }
        }
    }

    private static Per per(YamlTree tree, YamlTree timezone, String algorithm) {
        boolean mayGoByCalendar = algorithm == null || algorithm.equals(FIXED_WINDOW);
        return mayGoByCalendar ? PeriodReader.read(tree, timezone) : PeriodReader.read(tree, algorithm);
    }

    /** Returns a duration in ms, which is at most {@link Limit#MAX_LEVEL}. */
    static long windowMs(String text) {
        long ms = DurationsAndSizes.durationMs(text);
        if (ms > Limit.MAX_LEVEL) {
            throw new IllegalArgumentException("is too large: '" + text + "'");
        }
        return ms;
    }

    private static Long burst(YamlTree tree, boolean blocked) {
        if (!blocked) {
            return tree.wholeNumber(1, Limit.MAX_CAPACITY);
        }
        Long burst = tree.wholeNumber(0, Limit.MAX_CAPACITY);
        if (burst != null && burst > 0) {
            tree.fault("must be 0 or left out if limit is 0, is '" + burst + "'");
        }
        return null;
    }

    private static String label(String algorithm, Terms terms) {
        return algorithm + " " + terms.limit + "/" + terms.per
                + (terms.burst == terms.limit ? "" : " burst " + terms.burst)
                + (terms.interval ? " interval" : "")
                + (terms.strict ? " strict" : "");
    }
}
