package dev.weir.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.weir.testing.Effort;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GlobTest {

    private static final int RANDOM_CASES = Effort.times(100_000);

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "free                | free                    | true",
                "free                | Free                    | false",
                "free                | freedom                 | false",
                "free                | \"\"                    | false",
                "\"\"                | \"\"                    | true",
                "\"\"                | a                       | false",
                "/articles/**        | /articles/              | true",
                "/articles/**        | /articles/1             | true",
                "/articles/**        | /articles/1/comments/2  | true",
                "/articles/**        | /articles               | false",
                "/articles/**        | /article/1              | false",
                "/articles/*         | /articles/1             | true",
                "/articles/*         | /articles/              | true",
                "/articles/*         | /articles/1/comments    | false",
                "/articles/*/comments| /articles/7/comments    | true",
                "/articles/*/comments| /articles/7/8/comments  | false",
                "/articles/**/comments| /articles/7/8/comments | true",
                "/articles/**/comments| /articles/comments     | false",
                "**                  | \"\"                    | true",
                "**                  | /a/b                    | true",
                "*                   | \"\"                    | true",
                "*                   | abc                     | true",
                "*                   | a/c                     | false",
                "***                 | a/c                     | true",
                "?                   | a                       | true",
                "?                   | /                       | false",
                "?                   | \"\"                    | false",
                "?                   | ab                      | false",
                "a?c                 | abc                     | true",
                "*.json              | a.json                  | true",
                "*.json              | .json                   | true",
                "*.json              | a.jsonx                 | false",
                "a*b*c               | aXbYbZc                 | true",
                "a*b*c               | aXbYbZ                  | false",
                "10.0.*.*            | 10.0.3.17               | true",
                "10.0.*.*            | 10.1.3.17               | false",
                "a\\*b               | a*b                     | true",
                "a\\*b               | axb                     | false",
                "a\\?                | a?                      | true",
                "a\\\\b              | a\\b                    | true",
                "\\a                 | a                       | true",
                "*ä*                 | xäy                     | true",
                "/a/?                | /a/\uD83D\uDE00       | true",
                "?                   | \uD83D\uDE00          | true",
                "??                  | \uD83D\uDE00          | false",
                "?b                  | \uD83D\uDE00b         | true",
                "*??                 | \uD83D\uDE00          | false",
                "\uD83D\uDE00?     | \uD83D\uDE00x         | true",
                "\uD83D\uDE00      | \uD83D\uDE01          | false",
                "\\\uD83D\uDE00* | \uD83D\uDE00b         | true",
            })
    void matches(String pattern, String text, boolean expected) {
        assertThat(new Glob(pattern).matches(text)).isEqualTo(expected);
        assertThat(NaiveGlob.matches(pattern, text))
                .as("by the naive implementation")
                .isEqualTo(expected);
    }

    @Test
    void is_literal_without_a_wildcard() {
        assertThat(new Glob("a/b").isLiteral()).isTrue();
        assertThat(new Glob("a\\*b").isLiteral()).isTrue();
        assertThat(new Glob("").isLiteral()).isTrue();
        assertThat(new Glob("a*b").isLiteral()).isFalse();
        assertThat(new Glob("ab?").isLiteral()).isFalse();
    }

    @Test
    void starts_with_its_literal_prefix() {
        assertThat(new Glob("/a/**").literalPrefix()).isEqualTo("/a/");
        assertThat(new Glob("a\\*b?c").literalPrefix()).isEqualTo("a*b");
        assertThat(new Glob("*a").literalPrefix()).isEmpty();
        assertThat(new Glob("abc").literalPrefix()).isEqualTo("abc");
        assertThat(new Glob("\uD83D\uDE00?").literalPrefix()).isEqualTo("\uD83D\uDE00");
    }

    @Test
    void equals_by_its_pattern() {
        assertThat(new Glob("a*")).isEqualTo(new Glob("a*")).hasSameHashCodeAs(new Glob("a*"));
        assertThat(new Glob("a*")).isNotEqualTo(new Glob("a**")).hasToString("a*");
    }

    @ParameterizedTest
    @ValueSource(strings = {"\\", "a\\", "a\\\\\\"})
    void rejects_a_lone_backslash_at_the_end(String pattern) {
        assertThatIllegalArgumentException().isThrownBy(() -> new Glob(pattern)).withMessageContaining("backslash");
    }

    @ParameterizedTest
    @ValueSource(strings = {"\uD83D", "a\uDE00*", "\\\uD83D"})
    void rejects_half_of_a_surrogate_pair(String pattern) {
        assertThatIllegalArgumentException().isThrownBy(() -> new Glob(pattern)).withMessageContaining("surrogate");
    }

    @Test
    void rejects_a_too_long_pattern() {
        assertThat(new Glob("\uD83D\uDE00".repeat(Glob.MAX_LENGTH)).isLiteral()).isTrue();
        assertThat(new Glob("a".repeat(Glob.MAX_LENGTH)).isLiteral()).isTrue();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Glob("a".repeat(Glob.MAX_LENGTH + 1)))
                .withMessageContaining("256");
    }

    @Test
    void agrees_with_its_definition_on_random_patterns() {
        Random random = new Random(20);
        String patternLetters = "ab/**?\\\uD83D\uDE00";
        int matched = 0;
        for (int i = 0; i < RANDOM_CASES; i++) {
            String pattern = randomText(random, patternLetters, 7);
            if (pattern.replace("\\\\", "").endsWith("\\")) {
                continue;
            }
            String text = randomText(random, "ab/*\uD83D\uDE00", 8);
            boolean matches = new Glob(pattern).matches(text);
            matched += matches ? 1 : 0;
            assertThat(matches).as("'%s' on '%s'", pattern, text).isEqualTo(NaiveGlob.matches(pattern, text));
        }
        assertThat(matched).as("number of matches").isGreaterThan(RANDOM_CASES / 30);
    }

    /** Positions beyond the first 64, 128 and 192. */
    @Test
    void agrees_with_its_definition_after_long_prefixes() {
        Random random = new Random(22);
        int matched = 0;
        for (int i = 0; i < RANDOM_CASES; i++) {
            int before = 64 * (1 + random.nextInt(3)) - 8 + random.nextInt(12);
            String pattern = randomText(random, "ab/**?", 9);
            String text = randomText(random, "ab/", 9);
            String runs = random.nextBoolean() ? "*" : "";
            String longPattern = "?".repeat(before) + runs + pattern;
            String longText = "x".repeat(before) + text;
            boolean expected = NaiveGlob.matches(runs + pattern, text);
            matched += expected ? 1 : 0;
            assertThat(new Glob(longPattern).matches(longText))
                    .as("'%s' on '%s'", longPattern, longText)
                    .isEqualTo(expected);
        }
        assertThat(matched).as("number of matches").isGreaterThan(RANDOM_CASES / 20);
    }

    @Test
    void a_match_starts_with_the_literal_prefix() {
        Random random = new Random(21);
        for (int i = 0; i < RANDOM_CASES; i++) {
            String pattern = randomText(random, "ab/*?", 5);
            String text = randomText(random, "ab/", 6);
            Glob glob = new Glob(pattern);
            if (glob.matches(text)) {
                assertThat(text).startsWith(glob.literalPrefix());
            }
        }
    }

    private static String randomText(Random random, String letters, int longest) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(longest + 1); i > 0; i--) {
            int[] all = letters.codePoints().toArray();
            text.appendCodePoint(all[random.nextInt(all.length)]);
        }
        return text.toString();
    }

    /** A backtracking matcher would take astronomically many steps. */
    @Test
    void a_hostile_pattern_costs_at_most_its_length_times_that_of_the_text() {
        Glob glob = new Glob("*a".repeat(Glob.MAX_LENGTH / 2 - 1) + "*b");
        assertThat(glob.matches("a".repeat(50_000))).isFalse();
        assertThat(glob.matches("a".repeat(50_000) + "b")).isTrue();
        Glob deep = new Glob("**a".repeat(Glob.MAX_LENGTH / 3 - 1) + "**b");
        assertThat(deep.matches("a/".repeat(25_000))).isFalse();
    }
}
