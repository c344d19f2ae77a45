package dev.weir.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GlobInclusionTest {

    private static boolean includes(String wide, String narrow) {
        return new Glob(wide).includes(new Glob(narrow), new GlobInclusion(GlobInclusion.DEFAULT_STEPS));
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            **,          a/b*c,     true
            **,          '',        true
            *,           ab?,       true
            *,           **,        false
            *,           a/b,       false
            /api/**,     /api/v1/*, true
            /api/**,     /api*/v1,  false
            /api/v1/*,   /api/**,   false
            a*,          a?*,       true
            a?*,         a*,        false
            ?*,          *?,        true
            *a*,         *aa*,      true
            *aa*,        *a*,       false
            *a*b*,       *a?b*,     true
            \\*,         *,         false
            *,           \\*,       true
            a,           a*,        false
            """)
    void a_pattern_includes_another_one(String wide, String narrow, boolean expected) {
        assertThat(includes(wide, narrow)).isEqualTo(expected);
    }

    private static String pattern(Random random) {
        StringBuilder pattern = new StringBuilder();
        for (int i = random.nextInt(5); i > 0; i--) {
            pattern.append(List.of("a", "b", "/", "?", "*", "**").get(random.nextInt(6)));
        }
        return pattern.toString();
    }

    /** Returns all texts of at most six characters. */
    private static List<String> texts() {
        List<String> texts = new ArrayList<>(List.of(""));
        int from = 0;
        for (int length = 1; length <= 6; length++) {
            int to = texts.size();
            for (; from < to; from++) {
                for (String character : List.of("a", "b", "/", "x")) {
                    texts.add(texts.get(from) + character);
                }
            }
        }
        return texts;
    }

    @Test
    void it_is_what_matching_all_short_texts_shows() {
        List<String> texts = texts();
        Random random = new Random(7);
        int included = 0;
        for (int i = 0; i < 3_000; i++) {
            Glob wide = new Glob(pattern(random));
            Glob narrow = new Glob(pattern(random));
            boolean expected = texts.stream().noneMatch(text -> narrow.matches(text) && !wide.matches(text));
            assertThat(includes(wide.toString(), narrow.toString()))
                    .as("%s includes %s", wide, narrow)
                    .isEqualTo(expected);
            included += expected ? 1 : 0;
        }
        assertThat(included).isGreaterThan(300);
    }

    @Test
    void a_comparison_that_takes_too_many_steps_is_not_included() {
        Glob wide = new Glob("*a" + "?".repeat(60)); // reaches 2^60 sets of positions
        Glob narrow = new Glob("*b*" + "a".repeat(61));
        assertThat(wide.includes(narrow, new GlobInclusion(GlobInclusion.DEFAULT_STEPS)))
                .isFalse();
        GlobInclusion comparison = new GlobInclusion(20);
        assertThat(new Glob("*a").includes(new Glob("*aa"), comparison)).isTrue();
        assertThat(wide.includes(narrow, comparison)).isFalse();
        assertThat(new Glob("*a").includes(new Glob("*aa"), comparison)).isFalse();
    }
}
