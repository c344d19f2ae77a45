package dev.weir.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.http.PathRules.DoubleSlash;
import dev.weir.http.PathRules.EncodedSlash;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** All spellings of a path must be the same path for policies, or be rejected. */
class PathRulesTest {

    private static final PathRules DECODE = new PathRules(EncodedSlash.DECODE, DoubleSlash.MERGE, false);
    private static final PathRules KEEP = new PathRules(EncodedSlash.KEEP, DoubleSlash.MERGE, false);
    private static final PathRules FOLD = new PathRules(EncodedSlash.KEEP, DoubleSlash.MERGE, true);

    @ParameterizedTest
    @CsvSource(textBlock = """
            ''                         , /
            /                          , /
            /articles/7                , /articles/7
            /articles/7/               , /articles/7/
            //articles///7             , /articles/7
            //host/pay                 , /host/pay
            /a//                       , /a/
            /%61rticles/%37            , /articles/7
            /a;v=1/b;x                 , /a/b
            /a;v=1;w/b                 , /a/b
            /a/;jsessionid=1           , /a/
            /;x                        , /
            /a;v=%C3%A9%41/b           , /a/b
            /a%3bv=1/b                 , /a%3Bv=1/b
            /a%3Fb%23c                 , /a%3Fb%23c
            /a%252Fb                   , /a%252Fb
            /%2570ay                   , /%2570ay
            /100%25                    , /100%25
            /caf%c3%a9                 , /café
            /café                      , /café
            /%e2%82%ac%F0%9F%98%80     , /€😀
            /%ff%c3%a9%c0%af%e2%82     , /%FFé%C0%AF%E2%82
            /%C3%28                    , /%C3(
            /a%20b+c                   , /a b+c
            /a b                       , /a b
            /.well-known/x             , /.well-known/x
            /a..b/.../..c/.d           , /a..b/.../..c/.d
            /a./b%20/c%20.             , /a./b /c
            /a/...                     , /a/
            /PAY/x                     , /PAY/x
            /~a!$&()*+=:@              , /~a!$&()*+=:@
            *                          , /*
            a/b                        , /a/b
            """)
    void a_path_is_normalized(String raw, String normal) {
        assertThat(PathRules.DEFAULTS.normalize(raw)).isEqualTo(normal);
        assertThat(PathRules.DEFAULTS.normalize(normal)).isEqualTo(normal);
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            /articles/../admin         , a dot segment
            /articles/%2e%2E/admin     , a dot segment
            /articles/.%2e/admin       , a dot segment
            /../../a                   , a dot segment
            /a/./b                     , a dot segment
            /a/%2e                     , a dot segment
            /a/..                      , a dot segment
            /a/..;/b                   , a dot segment
            /a/..;v=1                  , a dot segment
            ..                         , a dot segment
            /a%2fb                     , 'an encoded slash, %2F'
            /a%2Fb                     , 'an encoded slash, %2F'
            /a;v=%2F                   , 'an encoded slash, %2F'
            /a%5cb                     , 'an encoded backslash, %5C'
            /a\\b                      , a backslash
            \\a                        , a backslash
            /a/;v=1/b                  , a segment with parameters only
            /;/a                       , a segment with parameters only
            /a#b                       , a number sign
            /a%00                      , 'an escaped control character, %00'
            /a%0a                      , 'an escaped control character, %0A'
            /a%7f                      , 'an escaped control character, %7F'
            /a;v=%00                   , 'an escaped control character, %00'
            /100%                      , a percent sign that begins no valid escape
            /100%z4                    , a percent sign that begins no valid escape
            /100%4                     , a percent sign that begins no valid escape
            /%u0070ay                  , a percent sign that begins no valid escape
            /%\u0664\u0661             , a percent sign that begins no valid escape
            """)
    void a_path_that_servers_understand_in_different_ways_is_rejected(String raw, String reason) {
        assertThatThrownBy(() -> PathRules.DEFAULTS.normalize(raw))
                .isInstanceOf(UnclearPathException.class)
                .hasMessage("the path has " + reason);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/a\u0000", "/a\tb", "/a\r\nb", "/a\u007f"})
    void a_control_character_is_rejected(String raw) {
        assertThatThrownBy(() -> PathRules.DEFAULTS.normalize(raw)).hasMessage("the path has a control character");
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            /a%2fb           , /a/b
            /a%2F            , /a/
            /%2Fa            , /a
            /a%2F%2Fb        , /a/b
            /a%252Fb         , /a%252Fb
            /a;x/b%2Fc       , /a/b/c
            """)
    void an_encoded_slash_can_be_a_slash(String raw, String normal) {
        assertThat(DECODE.normalize(raw)).isEqualTo(normal);
        assertThat(DECODE.normalize(normal)).isEqualTo(normal);
    }

    /** A server that does not decode the slash serves another path. */
    @ParameterizedTest
    @CsvSource(textBlock = """
            /pay/a%2F..%2F..%2Ffree    , a dot segment
            /pay/a%2F%2e%2e/free       , a dot segment
            /a%2F.                     , a dot segment
            /a;v=%2Fb                  , 'an encoded slash, %2F, in a parameter'
            /a%2F;v=1%2Fb              , 'an encoded slash, %2F, in a parameter'
            /a%5Cb                     , 'an encoded backslash, %5C'
            """)
    void a_decoded_slash_makes_no_unclear_path(String raw, String reason) {
        assertThatThrownBy(() -> DECODE.normalize(raw)).hasMessage("the path has " + reason);
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            /a%2fb           , /a%2Fb
            /a%5cb           , /a%5Cb
            /a%2F..%2Fb      , /a%2F..%2Fb
            /a;v=%2F/b       , /a/b
            """)
    void an_encoded_slash_can_be_a_character_of_its_segment(String raw, String normal) {
        assertThat(KEEP.normalize(raw)).isEqualTo(normal);
        assertThat(KEEP.normalize(normal)).isEqualTo(normal);
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            /PAY/x           , /pay/x
            /p%41y           , /pay
            /CAF%C3%89       , /café
            /A%2FB           , /a%2fb
            """)
    void case_can_be_ignored(String raw, String normal) {
        assertThat(FOLD.normalize(raw)).isEqualTo(normal);
        assertThat(FOLD.normalize(normal)).isEqualTo(normal);
    }

    @ParameterizedTest
    @ValueSource(strings = {"//a", "/a//b", "/a//", "//"})
    void a_double_slash_can_be_rejected(String raw) {
        PathRules strict = new PathRules(EncodedSlash.REJECT, DoubleSlash.REJECT, false);
        assertThatThrownBy(() -> strict.normalize(raw)).hasMessage("the path has a double slash");
        assertThat(strict.normalize("/a/b/")).isEqualTo("/a/b/");
    }

    /** The fast check for normal paths must agree with the rest. */
    @Test
    void a_normal_form_is_its_own_normal_form_and_has_no_other_segments() {
        String[] parts = {
            "/",
            "//",
            "a",
            "B",
            ".",
            "..",
            ";",
            "%2F",
            "%5C",
            "%2e",
            "%41",
            "%3b",
            "%25",
            "%C3",
            "%A9",
            "%",
            "\u00e9",
            "\\",
            "#",
            "-",
            "~",
            " ",
            "a.",
            "%00",
            "\u0130",
            "\ud83d\ude00",
            "%F0%9F%98%80",
            "\ud83d"
        };
        SplittableRandom random = new SplittableRandom(7);
        List<String> accepted = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            StringBuilder raw = new StringBuilder(random.nextInt(4) == 0 ? "" : "/");
            for (int length = random.nextInt(9); length > 0; length--) {
                raw.append(parts[random.nextInt(parts.length)]);
            }
            for (PathRules rules : List.of(PathRules.DEFAULTS, DECODE, KEEP, FOLD)) {
                try {
                    String normal = rules.normalize(raw.toString());
                    assertThat(rules.normalize(normal)).as(raw.toString()).isEqualTo(normal);
                    assertThat(normal).startsWith("/").doesNotContain("//", ";", "\\", "#");
                    assertThat(normal.split("/", -1)).doesNotContain(".", "..");
                    accepted.add(normal);
                } catch (UnclearPathException e) {
                    assertThat(e).hasMessageStartingWith("the path has ");
                }
            }
        }
        assertThat(accepted).hasSizeGreaterThan(10_000);
    }
}
