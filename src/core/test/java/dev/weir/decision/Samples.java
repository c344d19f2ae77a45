package dev.weir.decision;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.CalendarPeriod;
import dev.weir.limit.CalendarWindow;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import dev.weir.policy.Glob;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestMatcher;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Short factories for policies and requests. */
public final class Samples {

    private Samples() {}

    public static FixedWindow window(long limit, long perMs) {
        return new FixedWindow(limit, perMs, false);
    }

    public static FixedWindow windowCountingDenied(long limit, long perMs) {
        return new FixedWindow(limit, perMs, true);
    }

    public static CalendarWindow calendar(long limit, CalendarPeriod period, String zone) {
        return new CalendarWindow(limit, period, ZoneId.of(zone), false);
    }

    public static SlidingWindowLog log(long limit, long perMs) {
        return new SlidingWindowLog(limit, perMs, false);
    }

    public static SlidingWindowCounter counter(long limit, long perMs) {
        return new SlidingWindowCounter(limit, perMs, false, false);
    }

    public static TokenBucket tokens(long limit, long perMs, long burst) {
        return new TokenBucket(Rate.of(limit, perMs), burst, false);
    }

    public static LeakyBucket leaky(long limit, long perMs, long burst) {
        return new LeakyBucket(Rate.of(limit, perMs), burst, false);
    }

    public static Gcra gcra(long limit, long perMs, long burst) {
        return new Gcra(Rate.of(limit, perMs), burst, false);
    }

    public static IntervalBucket steps(long limit, long perMs, long burst) {
        return new IntervalBucket(limit, perMs, burst, false);
    }

    /** Returns a policy for all requests, with its limits labelled {@code id/0}, {@code id/1}, … */
    public static Policy policy(String id, Limit<?>... limits) {
        return policy(id, Policy.DEFAULT_LAYER, 0, RequestMatcher.ALL, limits);
    }

    public static Policy policy(String id, String layer, int priority, RequestMatcher match, Limit<?>... limits) {
        List<Policy.Term> terms = new ArrayList<>();
        for (Limit<?> limit : limits) {
            terms.add(new Policy.Term(id + "/" + terms.size(), limit));
        }
        return Policy.builder(id)
                .layer(layer)
                .priority(priority)
                .match(match)
                .terms(terms)
                .build();
    }

    /** Returns a policy whose limits requests can override, labelled {@code id/0 LIMIT/w}, {@code id/1 LIMIT/w}, … */
    public static Policy overridable(String id, Limit<?>... limits) {
        Policy plain = policy(id, limits);
        List<Policy.Term> terms = new ArrayList<>();
        for (Policy.Term term : plain.terms()) {
            String label = term.label() + " " + term.limit().capacity() + "/w";
            terms.add(new Policy.Term(label, term.limit(), term.maxDebt(), true));
        }
        return withTerms(terms, plain);
    }

    public static Policy withTerms(List<Policy.Term> terms, Policy policy) {
        return policy.toBuilder().terms(terms).build();
    }

    public static Policy inLayer(String layer, Policy policy) {
        return changed(policy, layer, policy.key(), policy.maxSizeBytes(), policy.onExceed());
    }

    public static Policy onExceed(OnExceed onExceed, Policy policy) {
        return changed(policy, policy.layer(), policy.key(), policy.maxSizeBytes(), onExceed);
    }

    public static Policy maxSize(Long bytes, Policy policy) {
        return changed(policy, policy.layer(), policy.key(), bytes, policy.onExceed());
    }

    public static Policy keyed(List<String> key, Policy policy) {
        return changed(policy, policy.layer(), key, policy.maxSizeBytes(), policy.onExceed());
    }

    public static Policy idempotent(long windowMs, Policy policy) {
        return policy.toBuilder().idempotencyMs(windowMs).build();
    }

    private static Policy changed(Policy from, String layer, List<String> key, Long maxSizeBytes, OnExceed onExceed) {
        return from.toBuilder()
                .layer(layer)
                .key(key)
                .maxSizeBytes(maxSizeBytes)
                .onExceed(onExceed)
                .sharing(null)
                .build();
    }

    public static PolicyTable table(Policy... policies) {
        return PolicyTable.of(Arrays.asList(policies));
    }

    /**
     * Returns a matcher from pairs of a field and its patterns, separated by bars: {@code match("tier", "free|gold")}.
     */
    public static RequestMatcher match(String... pairs) {
        Map<String, List<Glob>> conditions = new TreeMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            conditions.put(
                    pairs[i],
                    Arrays.stream(pairs[i + 1].split("\\|", -1)).map(Glob::new).toList());
        }
        return new RequestMatcher(conditions);
    }

    public static Request request(String client, String tier, Map<String, String> attributes) {
        return Request.builder("r", client)
                .tier(tier)
                .attributes(attributes)
                .source(0, 0)
                .build();
    }

    public static Request consume(long cost, long timestampMs) {
        return of(RequestKind.CONSUME, cost, timestampMs);
    }

    public static Request peek(long cost, long timestampMs) {
        return of(RequestKind.PEEK, cost, timestampMs);
    }

    public static Request settle(long cost, long timestampMs) {
        return of(RequestKind.SETTLE, cost, timestampMs);
    }

    public static Request of(RequestKind kind, long cost, long timestampMs) {
        return Request.builder("r", "c")
                .kind(kind)
                .cost(cost)
                .timestampMs(timestampMs)
                .source(3, 14)
                .build();
    }

    public static Request sized(long sizeBytes, Request request) {
        return request.toBuilder().sizeBytes(sizeBytes).queue(null).build();
    }
}
