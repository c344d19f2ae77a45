package dev.weir.client.decision;

import dev.weir.event.Decision;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.Outcome;
import java.math.BigDecimal;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Creates the HTTP response fields that describe decisions to a client, with an item for each limit that is enforced.
 *
 * <pre>
 *   HTTP/1.1 429                                               DENIED: 100 a minute, retry in 19.2 s
 *   RateLimit-Policy: "free";q=100;w=60, "free/2";q=2000;w=86400   q tokens become available in w seconds
 *   RateLimit: "free";r=0;t=20, "free/2";r=1210;t=43200        what remains, and for how many seconds it has to last
 *   Retry-After: 20                                            only if denied and a later attempt can succeed
 * </pre>
 *
 * <p>An item has the id of the policy as its name, and for the second and further limits of a policy also their number.
 * A client that spreads {@code q} requests over {@code w} seconds keeps the limit. Both are {@code limit} and {@code
 * per} of the policy, multiplied by the same number if {@code per} is not whole seconds or {@code burst} is above
 * {@code limit} ({@link EnforcedLimit}). {@code r} can be used at once and is at most {@code burst}.
 *
 * <p>All times are whole seconds, rounded up, and count from {@link Decision#decidedAtMs}, also for a repeated
 * decision. Numbers are 0 to 999,999,999,999,999; larger values are reported as that maximum. The parameters {@code qu}
 * and {@code pk} are omitted: a decision does not contain the unit of its tokens, and does not disclose the key that is
 * counted. Of a shared limit, {@code r} is what remained by the ledger's last response, less what was used here since,
 * and {@code t} is omitted. A limit of which it is not known what remains has no item in {@code RateLimit}.
 *
 * <p>There are no {@code RateLimit} fields if nothing is limited, if the request waits in a queue, if a queue rejected
 * it, or if it is shadow-banned by a limit of 0. Policies that only observe have no items.
 *
 * @see <a href="https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/">RateLimit header fields for
 *     HTTP, drafts 10 and 11</a>
 * @see <a href="https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3">Retry-After, RFC 9110</a>
 * @see <a href="https://www.rfc-editor.org/rfc/rfc9651">Structured Field Values, RFC 9651</a>
 */
// What clients must not learn:
//
//   shadow-banned   Reported like a request that was served and used the rest of all quotas: r=0, no Retry-After.
//                   Requests before the ban got a falling r under the same names, and the fields continue that. If the
//                   fields disappeared, or the r of other limits stood still, they would reveal where the ban begins. A
//                   limit of 0 never served a request, so there a quota of 0 would reveal the ban.
public final class RateLimitHeaders {

    private static final long MAX_INTEGER = 999_999_999_999_999L;
    private static final long MS_PER_SECOND = 1_000;

    private RateLimitHeaders() {}

    /** The name of an item: limits of different policies, or of one policy, have different names. */
    private record Name(String policyId, int number) {

        /** Returns a String of RFC 9651: printable ASCII, with a question mark for each other character. */
        String quoted() {
            StringBuilder quoted = new StringBuilder(policyId.length() + 2).append('"');
            for (int i = 0; i < policyId.length(); ) {
                int c = policyId.codePointAt(i);
                i += Character.charCount(c);
                if (c == '"' || c == '\\') {
                    quoted.append('\\');
                }
                quoted.append(c < ' ' || c > '~' ? '?' : (char) c);
            }
            return quoted.append(number == 1 ? "" : "/" + number).append('"').toString();
        }

        /** Returns the policy's id as the end of a field name: in lower case, with a hyphen for each other character. */
        String suffix() {
            return policyId.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9._-]", "-");
        }
    }

    /** A limit as the client of a decision may know it. */
    private record Item(EnforcedLimit limit, boolean isHidden, long decidedAtMs) {

        static Item lessRemaining(Item one, Item other) {
            return other.remaining() < one.remaining() ? other : one;
        }

        boolean isKnown() {
            return limit.remaining() != null;
        }

        long remaining() {
            return !isKnown() ? Long.MAX_VALUE : isHidden ? 0 : integer(limit.remaining());
        }

        /** Multiplies quota and window by the smallest number for which the window is whole seconds. */
        String policy() {
            if (limit.windowMs() == null) {
                return ";q=" + integer(limit.quota());
            }
            long times = MS_PER_SECOND / gcd(limit.windowMs(), MS_PER_SECOND);
            return ";q=" + integer(times(limit.quota(), times)) + ";w="
                    + integer(times(limit.windowMs(), times) / MS_PER_SECOND);
        }

        String status() {
            Long effectiveMs = effectiveWindowMs();
            return ";r=" + remaining() + (effectiveMs == null ? "" : ";t=" + seconds(effectiveMs));
        }

        /**
         * Returns for how long the client should use no more than what remains: until the whole limit is free, or until
         * a refused request passes. If the whole limit is free, returns in which time it becomes available; null if it
         * has no window or the time is not known.
         */
        private Long effectiveWindowMs() {
            Long resetMs = limit.resetAfterMs();
            Long retryMs = limit.retryAfterMs();
            if (resetMs == null) {
                return null;
            }
            if (retryMs != null && retryMs > 0 && !isHidden) {
                return Math.min(retryMs, resetMs);
            }
            if (resetMs > 0 || limit.windowMs() == null) {
                return resetMs == 0 ? null : resetMs;
            }
            long burst = Math.min(limit.remaining(), limit.quota());
            return burst == limit.quota() ? limit.windowMs() : (Long) (times(limit.windowMs(), burst) / limit.quota());
        }

        long resetAtMs() {
            return sum(decidedAtMs, limit.resetAfterMs());
        }
    }

    /**
     * Returns {@code RateLimit-Policy}, {@code RateLimit} and {@code Retry-After}, as far as they apply.
     *
     * @param decision a decision
     * @return the values by field name, unmodifiable and in the order above
     */
    public static Map<String, String> of(Decision decision) {
        return of(List.of(decision));
    }

    /**
     * Returns the fields of {@link #of(Decision)} for several decisions on one HTTP request. If several decisions have
     * the same limit, its item is that of the decision with the least remaining. {@code Retry-After} is the longest one;
     * it is omitted if a later attempt cannot succeed.
     *
     * <pre>
     *   RateLimit-Policy: "per-client";q=100;w=60, "per-path";q=5;w=1
     *   RateLimit: "per-client";r=42;t=30, "per-path";r=0;t=1
     * </pre>
     *
     * @param decisions the decisions
     * @return the values by field name, unmodifiable and in the order above
     */
    public static Map<String, String> of(List<Decision> decisions) {
        return of(decisions, XRateLimitFields.NONE);
    }

    /**
     * Returns the fields of {@link #of(List)} and the older {@code X-RateLimit-Limit}, {@code X-RateLimit-Remaining} and,
     * unless the time is unknown, {@code X-RateLimit-Reset}: those of the limit with the least remaining, or in {@link
     * XRateLimitFields#OPENAI} format those of each policy.
     *
     * @param decisions the decisions
     * @param older which older fields are added
     * @return the values by field name, unmodifiable
     */
    public static Map<String, String> of(List<Decision> decisions, XRateLimitFields older) {
        Map<Name, Item> items = items(decisions);
        Map<String, String> fields = new LinkedHashMap<>();
        if (!items.isEmpty()) {
            fields.put(
                    "RateLimit-Policy",
                    items.entrySet().stream()
                            .map(item ->
                                    item.getKey().quoted() + item.getValue().policy())
                            .collect(Collectors.joining(", ")));
        }
        items.values().removeIf(item -> !item.isKnown());
        if (!items.isEmpty()) {
            fields.put(
                    "RateLimit",
                    items.entrySet().stream()
                            .map(item ->
                                    item.getKey().quoted() + item.getValue().status())
                            .collect(Collectors.joining(", ")));
        }
        Decision latest = latestRetry(decisions);
        if (latest != null) {
            fields.put("Retry-After", Long.toString(seconds(latest.retryAfterMs())));
        }
        switch (older) {
            case NONE -> {}
            case OPENAI -> addOfPolicies(items, fields);
            case DELTA_SECONDS, EPOCH_SECONDS -> addOlder(items.values(), older, fields);
        }
        return Collections.unmodifiableMap(fields);
    }

    private static Map<Name, Item> items(List<Decision> decisions) {
        Map<Name, Item> items = new LinkedHashMap<>();
        for (Decision decision : decisions) {
            boolean bannedFromTheFirst =
                    decision.shadowBanned() && Long.valueOf(0).equals(decision.limit());
            for (EnforcedLimit limit : bannedFromTheFirst ? List.<EnforcedLimit>of() : decision.limits()) {
                items.merge(
                        new Name(limit.policyId(), limit.number()),
                        new Item(limit, decision.shadowBanned(), decision.decidedAtMs()),
                        Item::lessRemaining);
            }
        }
        return items;
    }

    private static void addOlder(Collection<Item> items, XRateLimitFields older, Map<String, String> fields) {
        items.stream().reduce(Item::lessRemaining).ifPresent(item -> {
            fields.put("X-RateLimit-Limit", Long.toString(integer(item.limit().quota())));
            fields.put("X-RateLimit-Remaining", Long.toString(item.remaining()));
            if (item.limit().resetAfterMs() != null) {
                long resetMs = older == XRateLimitFields.EPOCH_SECONDS
                        ? item.resetAtMs()
                        : item.limit().resetAfterMs();
                fields.put("X-RateLimit-Reset", Long.toString(seconds(resetMs)));
            }
        });
    }

    private static void addOfPolicies(Map<Name, Item> items, Map<String, String> fields) {
        Map<String, Item> tightest = new LinkedHashMap<>();
        items.forEach((name, item) -> tightest.merge(name.suffix(), item, Item::lessRemaining));
        tightest.forEach((suffix, item) -> {
            fields.put(
                    "x-ratelimit-limit-" + suffix,
                    Long.toString(integer(item.limit().quota())));
            fields.put("x-ratelimit-remaining-" + suffix, Long.toString(item.remaining()));
            if (item.limit().resetAfterMs() != null) {
                fields.put(
                        "x-ratelimit-reset-" + suffix,
                        duration(integer(item.limit().resetAfterMs())));
            }
        });
    }

    /** Returns milliseconds as Go prints durations: {@code 120ms}, {@code 1.5s}, {@code 6m0s}, {@code 1h0m0s}. */
    private static String duration(long ms) {
        if (ms > 0 && ms < MS_PER_SECOND) {
            return ms + "ms";
        }
        long seconds = ms / MS_PER_SECOND;
        String hours = seconds < 3_600 ? "" : seconds / 3_600 + "h";
        String minutes = seconds < 60 ? "" : seconds / 60 % 60 + "m";
        BigDecimal rest = BigDecimal.valueOf(seconds % 60 * MS_PER_SECOND + ms % MS_PER_SECOND, 3);
        return hours + minutes + rest.stripTrailingZeros().toPlainString() + "s";
    }

    /** Returns the refused decision with the longest retry time; null if none is refused, or one for ever. */
    private static Decision latestRetry(List<Decision> decisions) {
        Decision latest = null;
        for (Decision decision : decisions) {
            if (isRefused(decision)) {
                if (decision.retryAfterMs() == null) {
                    return null;
                }
                latest = latest == null || decision.retryAfterMs() > latest.retryAfterMs() ? decision : latest;
            }
        }
        return latest;
    }

    private static boolean isRefused(Decision decision) {
        boolean refused = decision.outcome() == Outcome.DENIED || decision.outcome() == Outcome.EXPIRED;
        return refused && !decision.shadowBanned();
    }

    private static long seconds(long ms) {
        return integer(ms / MS_PER_SECOND + (ms % MS_PER_SECOND > 0 ? 1 : 0));
    }

    private static long integer(long value) {
        return Math.max(0, Math.min(MAX_INTEGER, value));
    }

    private static long sum(long a, long b) {
        return a > Long.MAX_VALUE - b ? Long.MAX_VALUE : a + b;
    }

    /** Returns the product of two numbers, 0 or more, at most {@link Long#MAX_VALUE}. */
    private static long times(long a, long b) {
        return Math.multiplyHigh(a, b) == 0 && a * b >= 0 ? a * b : Long.MAX_VALUE;
    }

    private static long gcd(long a, long b) {
        return b == 0 ? a : gcd(b, a % b);
    }
}
