package dev.weir.client;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The HTTP fields by which a gateway tells a client of a decision.
 *
 * <pre>
 *   HTTP/1.1 429                                       DENIED, 100 a minute, again in 19.2 s
 *   RateLimit-Policy: "free-articles";q=100;w=60       the limit, and in which time that much comes
 *   RateLimit: "free-articles";r=0;t=20                what is left, and for how long no more should be used
 *   Retry-After: 20                                    where it is denied and a later try may pass
 * </pre>
 *
 * <p>All times are whole seconds, rounded up, and count from {@link Decision#decidedAtMs}, of a repeated decision too.
 * All numbers are 0 to 999,999,999,999,999; what is above is told as that. A policy of several limits goes by its one
 * id, with the figures of the limit that binds. {@code qu} and {@code pk} are left out: a decision does not know what
 * its tokens stand for, and whose it is concerns nobody else.
 *
 * <p>No figures, no fields: nothing is limited, it waits in a queue, or a queue or {@code max-size} refuses it; or it
 * is shadow-banned by a limit of 0.
 *
 * @see <a href="https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/">RateLimit header fields for
 *     HTTP, drafts 10 and 11</a>
 * @see <a href="https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3">Retry-After, RFC 9110</a>
 * @see <a href="https://www.rfc-editor.org/rfc/rfc9651">Structured Field Values, RFC 9651</a>
 */
// What the outside is not to know:
//
//   shadow-banned   Told like a request that was served and took all that was left: r=0, and no Retry-After. The
//                   requests before the ban were told a falling r under the same name, so this goes on as they did;
//                   fields that vanish, or a quota that seems full again, would mark where the ban begins. A limit of
//                   0 has served none before: there, a quota of 0 would be the mark.
//   observed        Told nothing: the figures are those of a limit that is not in force, for which a client that
//                   behaves well would slow down.
public final class RateLimitHeaders {

    private static final long MAX_INTEGER = 999_999_999_999_999L;

    private RateLimitHeaders() {}

    /** What {@code X-RateLimit-Reset} says: servers do not agree. */
    public enum Reset {
        /** In how many seconds the whole limit is free again. */
        DELTA_SECONDS,
        /** At which second since the epoch, UTC. */
        EPOCH_SECONDS
    }

    /** {@code RateLimit-Policy}, {@code RateLimit} and {@code Retry-After}, as far as they apply, by name. */
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
            fields.put("Retry-After", Long.toString(seconds(decision.retryAfterMs())));
        }
        return Collections.unmodifiableMap(fields);
    }

    /** As {@link #of(Decision)}, with the older {@code X-RateLimit-Limit}, {@code -Remaining} and {@code -Reset}. */
    public static Map<String, String> of(Decision decision, Reset reset) {
        Map<String, String> fields = new LinkedHashMap<>(of(decision));
        if (includesRemaining(decision)) {
            long fromMs = reset == Reset.EPOCH_SECONDS ? decision.decidedAtMs() : 0;
            fields.put("X-RateLimit-Limit", Long.toString(integer(decision.limit())));
            fields.put("X-RateLimit-Remaining", Long.toString(remaining(decision)));
            fields.put("X-RateLimit-Reset", Long.toString(seconds(sum(fromMs, decision.resetAfterMs()))));
        }
        return Collections.unmodifiableMap(fields);
    }

    private static boolean includesRemaining(Decision decision) {
        boolean bannedFromTheFirst = decision.shadowBanned() && Long.valueOf(0).equals(decision.limit());
        return !decision.observed()
                && !bannedFromTheFirst
                && decision.limit() != null
                && decision.remaining() != null
                && decision.resetAfterMs() != null;
    }

    private static boolean includesRetryAfter(Decision decision) {
        boolean refused = decision.outcome() == Outcome.DENIED || decision.outcome() == Outcome.EXPIRED;
        return refused && !decision.shadowBanned() && decision.retryAfterMs() != null;
    }

    /**
     * For how long no more than what remains should be used: until all is free again, but not beyond a Retry-After,
     * which must not be the earlier one. Where all is free, the window in which that much comes; null if there is none.
     */
    private static Long effectiveWindowMs(Decision decision) {
        if (includesRetryAfter(decision)) {
            return Math.min(decision.retryAfterMs(), decision.resetAfterMs());
        }
        return decision.resetAfterMs() == 0 ? decision.windowMs() : decision.resetAfterMs();
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

    /** An sf-string: printable ASCII, anything else as a question mark. */
    private static String quoted(String text) {
        return '"' + text.replaceAll("[^ -~]", "?").replaceAll("[\"\\\\]", "\\\\$0") + '"';
    }
}
