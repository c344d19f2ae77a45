package dev.weir.client.decision;

import static dev.weir.client.decision.XRateLimitFields.DELTA_SECONDS;
import static dev.weir.client.decision.XRateLimitFields.EPOCH_SECONDS;
import static dev.weir.client.decision.XRateLimitFields.OPENAI;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.weir.event.Decision;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RateLimitHeadersTest {

    private static final long DECIDED_AT_MS = 1_700_000_000_001L;
    private static final long MAX_INTEGER = 999_999_999_999_999L;

    /** The outcome of a decision, and whether it is hidden from the client. */
    private enum Treatment {
        ALLOWED,
        DENIED,
        QUEUED,
        EXPIRED,
        OBSERVED,
        SHADOW_BANNED
    }

    private static Decision decision(
            String policyId,
            Treatment treatment,
            Long limit,
            Long windowMs,
            Long remaining,
            Long resetMs,
            Long retryMs) {
        Outcome outcome =
                switch (treatment) {
                    case ALLOWED, OBSERVED -> Outcome.ALLOWED;
                    case DENIED, SHADOW_BANNED -> Outcome.DENIED;
                    case QUEUED -> Outcome.QUEUED;
                    case EXPIRED -> Outcome.EXPIRED;
                };
        return new Decision(
                        new Decision.Identity("r", "c", new Request.Source(0, 0)),
                        new Decision.Status(
                                outcome,
                                Reason.LIMIT_EXCEEDED,
                                200,
                                treatment == Treatment.OBSERVED,
                                treatment == Treatment.SHADOW_BANNED,
                                false),
                        new Decision.Timing(DECIDED_AT_MS, retryMs, null))
                .withLimit(
                        policyId == null ? null : new PolicyVersion(policyId, 1),
                        new LimitStatus("gcra", limit, windowMs, remaining, resetMs))
                .withLimits(
                        limit == null || remaining == null
                                ? List.of()
                                : List.of(
                                        new EnforcedLimit(policyId, 1, limit, windowMs, remaining, resetMs, retryMs)));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "-", quoteCharacter = '\'', textBlock = """
            #              |      |          |           |         |         |             |                |
            # treatment         | limit| window ms| remaining | reset ms| retry ms| -Policy     | RateLimit      | Retry-After
            ALLOWED        | 100  | 60000    | 99        | 50000   | 0       | "p";q=100;w=60 | "p";r=99;t=50 | -
            ALLOWED        | 100  | 60000    | 0         | 1       | 0       | "p";q=100;w=60 | "p";r=0;t=1   | -
            ALLOWED        | 100  | 60000    | 99        | 1001    | 0       | "p";q=100;w=60 | "p";r=99;t=2  | -
            # the whole limit is free: t is its window, if it has one
            ALLOWED        | 100  | 60000    | 100       | 0       | 0       | "p";q=100;w=60 | "p";r=100;t=60 | -
            ALLOWED        | 0    | -        | 0         | 0       | 0       | "p";q=0        | "p";r=0       | -
            # a window below a second, and one that is not a multiple of a second
            ALLOWED        | 10   | 100      | 9         | 10      | 0       | "p";q=100;w=1  | "p";r=9;t=1   | -
            ALLOWED        | 10   | 11500    | 9         | 1150    | 0       | "p";q=20;w=23  | "p";r=9;t=2   | -
            # less can be used at once than becomes available in a window: 600 a minute, burst 1
            ALLOWED        | 600  | 60000    | 0         | 100     | 0       | "p";q=600;w=60 | "p";r=0;t=1   | -
            ALLOWED        | 600  | 60000    | 1         | 0       | 0       | "p";q=600;w=60 | "p";r=1;t=1   | -
            # nothing is limited
            ALLOWED        | -    | -        | -         | -       | 0       | -              | -             | -
            # t is never beyond Retry-After
            DENIED         | 100  | 60000    | 0         | 60000   | 19200   | "p";q=100;w=60 | "p";r=0;t=20  | 20
            DENIED         | 100  | 60000    | 7         | 59001   | 59001   | "p";q=100;w=60 | "p";r=7;t=60  | 60
            DENIED         | 100  | 60000    | 0         | 600     | 1       | "p";q=100;w=60 | "p";r=0;t=1   | 1
            # the cost never fits: what remains can still be used
            DENIED         | 100  | 60000    | 100       | 0       | -       | "p";q=100;w=60 | "p";r=100;t=60 | -
            DENIED         | 0    | -        | 0         | 0       | -       | "p";q=0        | "p";r=0       | -
            # max-size, a cancelled request, an unknown queue; a full queue
            DENIED         | 65536| -        | -         | -       | -       | -              | -             | -
            DENIED         | -    | -        | -         | -       | -       | -              | -             | -
            DENIED         | 10000| -        | -         | -       | 1500    | -              | -             | 2
            QUEUED         | 100  | -        | -         | -       | 0       | -              | -             | -
            EXPIRED        | -    | -        | -         | -       | 250     | -              | -             | 1
            EXPIRED        | -    | -        | -         | -       | -       | -              | -             | -
            OBSERVED       | 100  | 60000    | 41        | 31000   | 0       | "p";q=100;w=60 | "p";r=41;t=31 | -
            SHADOW_BANNED  | 100  | 60000    | 0         | 59400   | 600     | "p";q=100;w=60 | "p";r=0;t=60  | -
            SHADOW_BANNED  | 100  | 60000    | 7         | 59400   | 9000    | "p";q=100;w=60 | "p";r=0;t=60  | -
            SHADOW_BANNED  | 65536| -        | -         | -       | -       | -              | -             | -
            # a quota of 0 would reveal the ban
            SHADOW_BANNED  | 0    | -        | 0         | 0       | -       | -              | -             | -
            """)
    void rows(
            Treatment treatment,
            Long limit,
            Long windowMs,
            Long remaining,
            Long resetMs,
            Long retryMs,
            String policy,
            String rateLimit,
            String retryAfter) {
        Map<String, String> fields =
                RateLimitHeaders.of(decision("p", treatment, limit, windowMs, remaining, resetMs, retryMs));
        assertThat(fields.get("RateLimit-Policy")).isEqualTo(policy);
        assertThat(fields.get("RateLimit")).isEqualTo(rateLimit);
        assertThat(fields.get("Retry-After")).isEqualTo(retryAfter);
        assertThat(fields.values()).doesNotContainNull();
        assertThat(fields.keySet()).isSubsetOf("RateLimit-Policy", "RateLimit", "Retry-After");
    }

    @Test
    void a_shadow_banned_request_has_the_headers_of_an_allowed_one() {
        Decision served = decision("p", Treatment.ALLOWED, 100L, 60_000L, 0L, 59_400L, 0L);
        Decision banned = decision("p", Treatment.SHADOW_BANNED, 100L, 60_000L, 7L, 59_400L, 9_000L);
        for (XRateLimitFields reset : List.of(DELTA_SECONDS, EPOCH_SECONDS, OPENAI)) {
            assertThat(RateLimitHeaders.of(List.of(banned), reset))
                    .isEqualTo(RateLimitHeaders.of(List.of(served), reset));
        }
    }

    @Test
    void the_older_fields_are_sent_with_the_newer() {
        Decision denied = decision("p", Treatment.DENIED, 100L, 60_000L, 0L, 30_000L, 600L);
        assertThat(RateLimitHeaders.of(List.of(denied), DELTA_SECONDS))
                .containsExactly(
                        Map.entry("RateLimit-Policy", "\"p\";q=100;w=60"),
                        Map.entry("RateLimit", "\"p\";r=0;t=1"),
                        Map.entry("Retry-After", "1"),
                        Map.entry("X-RateLimit-Limit", "100"),
                        Map.entry("X-RateLimit-Remaining", "0"),
                        Map.entry("X-RateLimit-Reset", "30"));
        assertThat(RateLimitHeaders.of(List.of(denied), EPOCH_SECONDS))
                .containsEntry("X-RateLimit-Reset", "1700000031"); // 1,700,000,030.001 s
        Decision unlimited = decision("p", Treatment.ALLOWED, null, null, null, null, 0L);
        assertThat(RateLimitHeaders.of(List.of(unlimited), EPOCH_SECONDS)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0s",
        "1, 1ms",
        "999, 999ms",
        "1000, 1s",
        "1500, 1.5s",
        "59999, 59.999s",
        "60000, 1m0s",
        "360000, 6m0s",
        "3600000, 1h0m0s",
        "90061010, 25h1m1.01s",
        "9223372036854775807, 277777777h46m39.999s"
    })
    void in_openai_format_the_reset_is_a_duration(long resetMs, String expected) {
        Decision allowed = decision("tokens", Treatment.ALLOWED, 150_000L, 60_000L, 149_984L, resetMs, 0L);
        assertThat(RateLimitHeaders.of(List.of(allowed), OPENAI)).containsEntry("x-ratelimit-reset-tokens", expected);
    }

    @Test
    void in_openai_format_each_policy_has_the_fields_of_its_tightest_limit() {
        Decision requests = decision("requests", Treatment.ALLOWED, 60L, 60_000L, 59L, 1_000L, 0L);
        Decision tokens = decision("Tokens", Treatment.ALLOWED, 9L, 9L, 9L, 0L, 0L)
                .withLimits(List.of(
                        new EnforcedLimit("Tokens", 1, 150_000, 60_000L, 149_984L, 360_000L, 0L),
                        new EnforcedLimit("Tokens", 2, 999_999, 86_400_000L, 20L, null, 0L),
                        new EnforcedLimit("team of \"a\"", 1, 5, 1_000L, null, null, 0L)));
        Map<String, String> fields = RateLimitHeaders.of(List.of(requests, tokens), OPENAI);
        assertThat(fields)
                .containsEntry("x-ratelimit-limit-requests", "60")
                .containsEntry("x-ratelimit-remaining-requests", "59")
                .containsEntry("x-ratelimit-reset-requests", "1s")
                .containsEntry("x-ratelimit-limit-tokens", "999999")
                .containsEntry("x-ratelimit-remaining-tokens", "20")
                .doesNotContainKey("x-ratelimit-reset-tokens")
                .hasSize(7);
        Decision odd = decision("team of \"a\"", Treatment.ALLOWED, 5L, 1_000L, 5L, 0L, 0L);
        assertThat(RateLimitHeaders.of(List.of(odd), OPENAI)).containsEntry("x-ratelimit-limit-team-of--a-", "5");
    }

    /** The examples of the draft, without those that have a partition key or a unit. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "-", quoteCharacter = '\'', textBlock = """
            # id         | treatment    | limit | window s | remaining | reset s | retry s | field            | line
            default      | ALLOWED | 100   | 10       | 50        | 30      | 0       | RateLimit-Policy | "default";q=100;w=10
            default      | ALLOWED | 100   | 10       | 50        | 30      | 0       | RateLimit        | "default";r=50;t=30
            problemPolicy| ALLOWED | 100   | 10       | 0         | 10      | 0       | RateLimit        | "problemPolicy";r=0;t=10
            default      | ALLOWED | 100   | 60       | 1         | 7       | 0       | RateLimit        | "default";r=1;t=7
            somepolicy   | ALLOWED | 10000 | 1000     | 10000     | 10      | 0       | RateLimit-Policy | "somepolicy";q=10000;w=1000
            daily        | ALLOWED | 5000  | 86400    | 1         | 86400   | 0       | RateLimit        | "daily";r=1;t=86400
            default      | ALLOWED | 100   | 60       | 0         | 50      | 0       | RateLimit        | "default";r=0;t=50
            dayLimit     | ALLOWED | 5000  | 86400    | 100       | 36000   | 0       | RateLimit        | "dayLimit";r=100;t=36000
            basic        | ALLOWED | 100   | 60       | 60        | 58      | 0       | RateLimit-Policy | "basic";q=100;w=60
            basic        | ALLOWED | 100   | 60       | 60        | 58      | 0       | RateLimit        | "basic";r=60;t=58
            default      | DENIED  | 100   | 60       | 0         | 60      | 5       | RateLimit        | "default";r=0;t=5
            fixedwindow  | ALLOWED | 100   | 60       | 99        | 50      | 0       | RateLimit        | "fixedwindow";r=99;t=50
            fixedwindow  | ALLOWED | 100   | 60       | 99        | 50      | 0       | RateLimit-Policy | "fixedwindow";q=100;w=60
            dynamic      | ALLOWED | 100   | 60       | 9         | 50      | 0       | RateLimit        | "dynamic";r=9;t=50
            dynamic      | DENIED  | 15    | 20       | 0         | 20      | 20      | RateLimit-Policy | "dynamic";q=15;w=20
            dynamic      | DENIED  | 15    | 20       | 0         | 20      | 20      | RateLimit        | "dynamic";r=0;t=20
            dynamic      | DENIED  | 100   | 60       | 15        | 40      | 20      | Retry-After      | 20
            dynamic      | DENIED  | 100   | 60       | 15        | 40      | 20      | RateLimit-Policy | "dynamic";q=100;w=60
            day          | ALLOWED | 5000  | 86400    | 100       | 36000   | 0       | RateLimit-Policy | "day";q=5000;w=86400
            """)
    void the_drafts_examples(
            String id,
            Treatment treatment,
            long limit,
            long windowSeconds,
            long remaining,
            long resetSeconds,
            long retrySeconds,
            String field,
            String line) {
        Decision decision = decision(
                id, treatment, limit, windowSeconds * 1_000, remaining, resetSeconds * 1_000, retrySeconds * 1_000);
        assertThat(RateLimitHeaders.of(decision).get(field)).isEqualTo(line);
    }

    @Test
    void numbers_above_fifteen_digits_are_capped() {
        Decision huge = decision(
                "p", Treatment.DENIED, Long.MAX_VALUE, Long.MAX_VALUE, 1L << 61, Long.MAX_VALUE, Long.MAX_VALUE);
        assertThat(RateLimitHeaders.of(List.of(huge), EPOCH_SECONDS).values())
                .containsExactly(
                        "\"p\";q=999999999999999;w=999999999999999",
                        "\"p\";r=999999999999999;t=999999999999999",
                        "999999999999999",
                        "999999999999999",
                        "999999999999999",
                        "999999999999999");
    }

    @ParameterizedTest
    @CsvSource({"a.b_c-1, a.b_c-1", "say \"hi\", say \"hi\"", "back\\slash, back\\slash", "Z\u0007ürich, Z??rich"})
    void a_name_is_encoded_as_a_string(String id, String encoded) {
        Decision decision = decision(id, Treatment.ALLOWED, 1L, 1L, 1L, 1L, 0L);
        assertThat(StructuredList.parse(RateLimitHeaders.of(decision).get("RateLimit")))
                .containsExactly(new StructuredList.Item(encoded, Map.of("r", 1L, "t", 1L)));
    }

    /**
     * The fields of any decision are Lists of Strings, with the parameters and ranges of sections 3.1 and 4.1 of
     * the draft.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void every_decision_conforms_to_the_drafts_grammar(long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < 20_000; i++) {
            Decision decision = random(random);
            Map<String, String> fields =
                    RateLimitHeaders.of(List.of(decision), random.nextBoolean() ? DELTA_SECONDS : EPOCH_SECONDS);
            assertThat(fields.containsKey("RateLimit")).isEqualTo(fields.containsKey("RateLimit-Policy"));
            if (fields.containsKey("RateLimit")) {
                Map<String, Object> policy = only(fields.get("RateLimit-Policy"), "q", "w");
                Map<String, Object> limit = only(fields.get("RateLimit"), "r", "t");
                assertThat((Long) policy.get("q")).isBetween(0L, MAX_INTEGER);
                assertThat((Long) policy.getOrDefault("w", 1L)).isBetween(1L, MAX_INTEGER);
                assertThat((Long) limit.get("r")).isBetween(0L, (Long) policy.get("q"));
                assertThat((Long) limit.getOrDefault("t", 0L)).isBetween(0L, MAX_INTEGER);
                if (fields.containsKey("Retry-After")) {
                    assertThat((Long) limit.get("t")).isLessThanOrEqualTo(Long.valueOf(fields.get("Retry-After")));
                }
            }
            fields.forEach((name, value) -> {
                if (!name.startsWith("RateLimit")) {
                    assertThat(value).matches("[0-9]{1,15}");
                }
            });
        }
    }

    /** Returns the parameters of a list with one item. The first parameter is required, the second is optional. */
    private static Map<String, Object> only(String field, String required, String optional) {
        List<StructuredList.Item> items = StructuredList.parse(field);
        assertThat(items).hasSize(1);
        assertThat(items.get(0).value()).isEqualTo("a-policy");
        assertThat(items.get(0).parameters()).containsKey(required);
        assertThat(items.get(0).parameters().keySet()).isSubsetOf(required, optional);
        return items.get(0).parameters();
    }

    private static Decision random(Random random) {
        boolean limited = random.nextInt(5) > 0;
        Long limit = limited ? (Long) anyLong(random) : null;
        Long resetMs = limited ? (Long) (1 + anyLong(random) / 2) : null;
        return decision(
                "a-policy",
                Treatment.values()[random.nextInt(Treatment.values().length)],
                limit,
                limited && random.nextInt(5) > 0 ? (Long) (1 + anyLong(random) / 2) : null,
                limited ? (Long) (limit == 0 ? 0 : anyLong(random) % limit) : null,
                resetMs,
                random.nextInt(3) == 0 ? null : resetMs == null ? (Long) anyLong(random) : resetMs);
    }

    /** Returns a positive number whose magnitude is random, so that small numbers are frequent. */
    private static long anyLong(Random random) {
        return random.nextLong(Long.MAX_VALUE) >> random.nextInt(63);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"a",
                "\"a\",",
                "\"a\" \"b\"",
                "\"a\\b\"",
                "\"ä\"",
                "\"a\";=1",
                "\"a\";Q=1",
                "\"a\";q=",
                "\"a\";q=1000000000000000",
                "a;q=1"
            })
    void the_test_parser_rejects_invalid_lists(String text) {
        assertThatIllegalArgumentException().isThrownBy(() -> StructuredList.parse(text));
    }

    @Test
    void the_test_parser_reads_the_drafts_lists() {
        assertThat(StructuredList.parse("\"hour\";q=1000;w=3600, \"day\";q=5000;w=86400"))
                .containsExactly(
                        new StructuredList.Item("hour", Map.of("q", 1000L, "w", 3600L)),
                        new StructuredList.Item("day", Map.of("q", 5000L, "w", 86400L)));
        assertThat(StructuredList.parse("\"a\\\"\\\\\"; q=-1;x"))
                .containsExactly(new StructuredList.Item("a\"\\", Map.of("q", -1L, "x", true)));
        assertThat(StructuredList.parse("")).isEmpty();
    }

    @Test
    void several_decisions_are_lists_with_an_item_for_each_policy() {
        Decision served = decision("client", Treatment.ALLOWED, 100L, 60_000L, 42L, 30_000L, 0L);
        Decision denied = decision("path", Treatment.DENIED, 5L, 1_000L, 0L, 1_000L, 700L);
        Decision less = decision("client", Treatment.ALLOWED, 100L, 60_000L, 41L, 31_000L, 0L);
        assertThat(RateLimitHeaders.of(List.of(served, denied, less)))
                .isEqualTo(Map.of(
                        "RateLimit-Policy", "\"client\";q=100;w=60, \"path\";q=5;w=1",
                        "RateLimit", "\"client\";r=41;t=31, \"path\";r=0;t=1",
                        "Retry-After", "1"));
        assertThat(RateLimitHeaders.of(List.of(served))).isEqualTo(RateLimitHeaders.of(served));
        assertThat(RateLimitHeaders.of(List.of())).isEmpty();
    }

    private static EnforcedLimit limit(String policyId, int number, long quota, long windowMs, Long remaining) {
        return new EnforcedLimit(policyId, number, quota, windowMs, remaining, remaining == null ? null : windowMs, 0L);
    }

    @Test
    void each_limit_of_a_decision_has_an_item_with_its_own_name() {
        Decision allowed = decision("a", Treatment.ALLOWED, 10L, 60_000L, 9L, 60_000L, 0L)
                .withLimits(List.of(
                        limit("a", 1, 10, 60_000, 9L),
                        limit("a", 2, 1_000, 86_400_000, 999L),
                        limit("b", 2, 5, 1_000, 4L)));
        assertThat(RateLimitHeaders.of(List.of(allowed), DELTA_SECONDS))
                .containsExactly(
                        Map.entry("RateLimit-Policy", "\"a\";q=10;w=60, \"a/2\";q=1000;w=86400, \"b/2\";q=5;w=1"),
                        Map.entry("RateLimit", "\"a\";r=9;t=60, \"a/2\";r=999;t=86400, \"b/2\";r=4;t=1"),
                        Map.entry("X-RateLimit-Limit", "5"),
                        Map.entry("X-RateLimit-Remaining", "4"),
                        Map.entry("X-RateLimit-Reset", "1"));
    }

    @Test
    void a_limit_of_which_it_is_not_known_what_remains_is_announced_only() {
        Decision allowed = decision("a", Treatment.ALLOWED, 10L, 60_000L, 9L, 60_000L, 0L)
                .withLimits(List.of(limit("a", 1, 10, 60_000, null)));
        assertThat(RateLimitHeaders.of(List.of(allowed), DELTA_SECONDS))
                .isEqualTo(Map.of("RateLimit-Policy", "\"a\";q=10;w=60"));
    }

    /** Otherwise a client would notice the ban: the values of other limits would no longer fall. */
    @Test
    void a_shadow_banned_client_has_used_up_all_limits() {
        Decision banned = decision("a", Treatment.SHADOW_BANNED, 10L, 60_000L, 0L, 60_000L, 9_000L)
                .withLimits(List.of(limit("a", 1, 10, 60_000, 0L), limit("b", 1, 5, 1_000, 4L)));
        assertThat(RateLimitHeaders.of(banned))
                .isEqualTo(Map.of(
                        "RateLimit-Policy", "\"a\";q=10;w=60, \"b\";q=5;w=1",
                        "RateLimit", "\"a\";r=0;t=60, \"b\";r=0;t=1"));
    }

    @Test
    void retry_after_is_the_longest_one_and_absent_if_no_retry_can_succeed() {
        Decision soon = decision("a", Treatment.DENIED, 5L, 1_000L, 0L, 1_000L, 700L);
        Decision later = decision("b", Treatment.DENIED, 5L, 60_000L, 0L, 60_000L, 20_001L);
        Decision never = decision("c", Treatment.DENIED, 5L, 60_000L, 0L, 60_000L, null);
        assertThat(RateLimitHeaders.of(List.of(soon, later))).containsEntry("Retry-After", "21");
        assertThat(RateLimitHeaders.of(List.of(later, soon))).containsEntry("Retry-After", "21");
        assertThat(RateLimitHeaders.of(List.of(later, never))).doesNotContainKey("Retry-After");
    }
}
