package dev.weir.fault;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SafeTextTest {

    private static final String FLAG = Character.toString(0xE0001);

    @Test
    void control_and_invisible_characters_are_escaped() {
        assertThat(SafeText.of("a\u001b[2J\r\nb\u007f\u009b31m\u202e\u2028\ud83dz\ude00"))
                .isEqualTo("a\\u001b[2J\\u000d\\u000ab\\u007f\\u009b31m\\u202e\\u2028\\ud83dz\\ude00");
        assertThat(SafeText.of(FLAG)).isEqualTo("\\udb40\\udc01");
        assertThat(SafeText.of("Grüße, 世界 😀 \\")).isEqualTo("Grüße, 世界 😀 \\");
    }

    @Test
    void text_is_cut_between_whole_characters() {
        assertThat(SafeText.of("abc", 3)).isEqualTo("abc");
        assertThat(SafeText.of("abcd", 3)).isEqualTo("abc…");
        assertThat(SafeText.of("ab😀d", 3)).isEqualTo("ab😀…");
        assertThat(SafeText.of("", 3)).isEmpty();
    }
}
