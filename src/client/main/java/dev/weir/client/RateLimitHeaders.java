package dev.weir.client;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Creates the HTTP response fields that describe a decision to a client.
 *
 * <pre>
 *   HTTP/1.1 429                                       DENIED: 100 a minute, retry in 19.2 s
 *   RateLimit-Policy: "free-articles";q=100;w=60       the limit, and the window in which that much becomes available
 *   RateLimit: "free-articles";r=0;t=20                what remains, and for how many seconds it has to last
 *   Retry-After: 20                                    only if the request is denied and a later attempt can succeed
 * </pre>
 *
 * <p>All times are whole seconds, rounded up, and count from {@link Decision#decidedAtMs}, also for a repeated
 * decision. Numbers are 0 to 999,999,999,999,999; larger values are reported as that maximum. A policy with several
 * limits is reported under its id, with the values of the binding limit. The parameters {@code qu} and {@code pk} are
 * omitted: a decision does not contain the unit of its tokens, and does not disclose the key that is counted.
 *
 * <p>There are no {@code RateLimit} fields if nothing is limited, if the request waits in a queue, if a queue or
 * {@code max-size} rejected it, if a policy only observes it, if it is shadow-banned by a limit of 0, or if it is unknown
 * what remains of a shared limit. Of a shared limit, {@code r} is what remained by the ledger's last response, less what
 * was used here since, and {@code t} is omitted unless the request is denied.
 *
 * @see <a href="https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/">RateLimit header fields for
 *     HTTP, drafts 10 and 11</a>
 * @see <a href="https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3">Retry-After, RFC 9110</a>
 * @see <a href="https://www.rfc-editor.org/rfc/rfc9651">Structured Field Values, RFC 9651</a>
 */
// What clients must not learn:
//
//   shadow-banned   Reported like a request that was served and used the rest of the quota: r=0, no Retry-After.
//                   Requests before the ban got a falling r under the same name, and the fields continue that. If
//                   the fields disappeared, or showed a full quota, they would reveal where the ban begins. A limit
//                   of 0 never served a request, so there a quota of 0 would reveal the ban.
//   observed        Not reported: the values are those of a limit that is not enforced, and a well-behaved client
//                   would slow down because of them.
public final class RateLimitHeaders {

    private static final String RETRY_AFTER = "Retry-After";
    private static final long MAX_INTEGER = 999_999_999_999_999L;

    private RateLimitHeaders() {}

    /** The meaning of {@code X-RateLimit-Reset}, which differs between servers. */
    public enum Reset {
        /** Seconds until the whole limit is free again. */
        DELTA_SECONDS,
        /** The time at which the whole limit is free again, in seconds since the epoch (UTC). */
        EPOCH_SECONDS
    }

    /**
     * Returns {@code RateLimit-Policy}, {@code RateLimit} and {@code Retry-After}, as far as they apply.
     *
     * @param decision a decision
     * @return the values by field name, unmodifiable and in the order above
     */
    public static Map<String, String> of(Decision decision) {
        Map<String, String> fields = new LinkedHashMap<>();
        if (includesRemaining(decision)) {
            String name = quoted(decision.policyId());
            Long windowMs = decision.windowMs();
            fields.put(
                    "RateLimit-Policy",
                    name + ";q=" + integer(decision.limit()) + (windowMs == null ? "" : ";w=" + seconds(windowMs)));
            Long effectiveMs = effectiveWindowMs(decision);
            fields.put(
                    "RateLimit",
                    name + ";r=" + remaining(decision) + (effectiveMs == null ? "" : ";t=" + seconds(effectiveMs)));
        }
        if (includesRetryAfter(decision)) {
            fields.put(RETRY_AFTER, Long.toString(seconds(decision.retryAfterMs())));
        }
        return Collections.unmodifiableMap(fields);
    }

    /**
     * Returns the fields of {@link #of(Decision)} for several decisions on one HTTP request, as lists with an item for
     * each policy. If several decisions have the same policy, its item is that of the decision with the least remaining.
     * {@code Retry-After} is the longest one; it is omitted if a later attempt cannot succeed.
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
        Map<String, Decision> byPolicy = new LinkedHashMap<>();
        Decision latest = null;
        boolean canSucceed = true;
        for (Decision decision : decisions) {
            if (includesRemaining(decision)) {
                byPolicy.merge(
                        decision.policyId(), decision, (one, other) -> remaining(other) < remaining(one) ? other : one);
            }
            if (includesRetryAfter(decision)) {
                latest = latest == null || decision.retryAfterMs() > latest.retryAfterMs() ? decision : latest;
            } else if (isRefused(decision)) {
                canSucceed = false;
            }
        }
        Map<String, String> fields = new LinkedHashMap<>();
        for (Decision decision : byPolicy.values()) {
            of(decision).forEach((name, item) -> {
                if (!name.equals(RETRY_AFTER)) {
                    fields.merge(name, item, (list, next) -> list + ", " + next);
                }
            });
        }
        if (latest != null && canSucceed) {
            fields.put(RETRY_AFTER, Long.toString(seconds(latest.retryAfterMs())));
        }
        return Collections.unmodifiableMap(fields);
    }

    /**
     * Returns the fields of {@link #of(Decision)} and, if there are {@code RateLimit} fields, the older
     * {@code X-RateLimit-Limit}, {@code X-RateLimit-Remaining} and, unless the time is unknown,
     * {@code X-RateLimit-Reset}.
     *
     * @param decision a decision
     * @param reset the meaning of {@code X-RateLimit-Reset}
     * @return the values by field name, unmodifiable and in the order above
     */
    public static Map<String, String> of(Decision decision, Reset reset) {
        Map<String, String> fields = new LinkedHashMap<>(of(decision));
        if (includesRemaining(decision)) {
            long fromMs = reset == Reset.EPOCH_SECONDS ? decision.decidedAtMs() : 0;
            fields.put("X-RateLimit-Limit", Long.toString(integer(decision.limit())));
            fields.put("X-RateLimit-Remaining", Long.toString(remaining(decision)));
            if (decision.resetAfterMs() != null) {
                fields.put("X-RateLimit-Reset", Long.toString(seconds(sum(fromMs, decision.resetAfterMs()))));
            }
        }
        return Collections.unmodifiableMap(fields);
    }

    private static boolean includesRemaining(Decision decision) {
        boolean bannedFromTheFirst = decision.shadowBanned() && Long.valueOf(0).equals(decision.limit());
        return !decision.observed() && !bannedFromTheFirst && decision.limit() != null && decision.remaining() != null;
    }

    private static boolean includesRetryAfter(Decision decision) {
        return isRefused(decision) && decision.retryAfterMs() != null;
    }

    private static boolean isRefused(Decision decision) {
        boolean refused = decision.outcome() == Outcome.DENIED || decision.outcome() == Outcome.EXPIRED;
        return refused && !decision.shadowBanned();
    }

    /**
     * Returns for how long the client should use no more than what remains: until the whole limit is free, but not
     * beyond a Retry-After, which must not be earlier. If the whole limit is free, returns its window; null if it
     * has none, or if that time is unknown.
     */
    private static Long effectiveWindowMs(Decision decision) {
        Long resetAfterMs = decision.resetAfterMs();
        if (includesRetryAfter(decision)) {
            return resetAfterMs == null
                    ? decision.retryAfterMs()
                    : (Long) Math.min(decision.retryAfterMs(), resetAfterMs);
        }
        return resetAfterMs != null && resetAfterMs == 0 ? decision.windowMs() : decision.resetAfterMs();
    }

    private static long remaining(Decision decision) {
        return decision.shadowBanned() ? 0 : integer(decision.remaining());
    }

    private static long seconds(long ms) {
        return integer(ms / 1_000 + (ms % 1_000 > 0 ? 1 : 0));
    }

    private static long integer(long value) {
        return Math.max(0, Math.min(MAX_INTEGER, value));
    }

    private static long sum(long a, long b) {
        return a > Long.MAX_VALUE - b ? Long.MAX_VALUE : a + b;
    }

    /** Returns a String of RFC 9651: printable ASCII, with a question mark for each other character. */
    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder(text.length() + 2).append('"');
        for (int i = 0; i < text.length(); ) {
            int c = text.codePointAt(i);
            i += Character.charCount(c);
            if (c == '"' || c == '\\') {
                quoted.append('\\');
            }
            quoted.append(c < ' ' || c > '~' ? '?' : (char) c);
        }
        return quoted.append('"').toString();
    }
}
