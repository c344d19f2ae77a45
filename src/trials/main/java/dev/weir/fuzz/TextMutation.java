package dev.weir.fuzz;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Mutations of texts, by characters, words, lines and whole values. */
final class TextMutation {

    /** Values that replace a word of the text. */
    private static final List<String> VALUES = List.of(
            "0",
            "-1",
            "1",
            "1_000",
            "9007199254740993",
            "9223372036854775807",
            "9223372036854775808",
            "1e999999999",
            "-1e-999999999",
            "0x7f",
            "0o17",
            "NaN",
            ".nan",
            "-.inf",
            "1.5",
            "true",
            "no",
            "~",
            "null",
            "''",
            "\"\"",
            "9".repeat(400),
            "1".repeat(39),
            "1ms",
            "0s",
            "1m",
            "999999999999999999d",
            "106751991167d",
            "1 day",
            "01 month",
            "00000001 week",
            "2 weeks",
            "30d",
            "31d",
            "1000000000000s",
            "64KiB",
            "8388607GiB",
            "999999999999999999GiB",
            "Europe/Berlin",
            "utc",
            "Z",
            "+18:00",
            "GMT+25",
            "../etc/passwd",
            "America/Argentina",
            "SystemV/PST8",
            "2026-12-01T00:00:00Z",
            "+999999999-12-31T23:59:59.999999999-18:00",
            "-999999999-01-01T00:00:00+18:00",
            "1969-12-31T23:59:59Z",
            "9999-12-31T23:59:59Z",
            "2026-02-30T00:00:00Z",
            "2026-12-01",
            "'**'",
            "'" + "*a".repeat(127) + "'",
            "'" + "*".repeat(256) + "'",
            "'" + "**/".repeat(85) + "'",
            "'\\\\'",
            "'?*?**?'",
            "'" + "a".repeat(257) + "'",
            "deny",
            "shape",
            "throttle",
            "observe",
            "shadow-ban",
            "gcra",
            "fixed-window",
            "sliding-window-log",
            "sliding-window-counter",
            "token-bucket",
            "leaky-bucket",
            "interval",
            "strict",
            "unlimited",
            "client",
            "tier",
            "[client]",
            "[]",
            "{}",
            "[[]]",
            "{a: 1}",
            "&a x",
            "*a",
            "&a [*a, *a]",
            "!!str 1",
            "!!java.net.URL [x]",
            "<<: *a",
            "? x",
            "- x",
            "|",
            ">-",
            "---",
            "...",
            "%YAML 1.2",
            "%TAG ! tag:x,2000:",
            "\"\\ud800\"",
            "\"\\uD83D\\uDE00\"",
            "\"\\x00\"",
            "\"\\U00110000\"",
            "\"\\u12",
            "\uD800",
            "\uFEFF",
            "\u0085",
            "\u2028",
            "\u0000",
            "\u00A0",
            "\t",
            "# x",
            "${env:HOME}",
            "${env:NOT_THERE}",
            "${env:",
            "default",
            "weir.",
            "256MiB",
            "1B",
            "[::1]",
            "localhost:99999",
            "/",
            "a".repeat(3_000));

    private static final String CHARACTERS =
            "{}[]:,-?!&*#|>'\"%@`\\/.~_0123456789aezEN \n\r\t\u0000\u0085\u2028\uFEFF\uD83D\uDE00ä";

    private static final Pattern WORD = Pattern.compile("[A-Za-z0-9_./*-]+");

    private TextMutation() {}

    static String of(List<String> valid, SplittableRandom random) {
        String text = any(valid, random);
        for (int steps = random.nextInt(3) == 0 ? 1 + random.nextInt(6) : 1; steps > 0; steps--) {
            text = step(text, valid, random);
        }
        return text;
    }

    private static String step(String text, List<String> valid, SplittableRandom random) {
        int at = random.nextInt(text.length() + 1);
        int to = Math.min(text.length(), at + random.nextInt(30));
        return switch (random.nextInt(14)) {
            case 0 -> text.substring(0, at) + character(random) + text.substring(at);
            case 1 -> text.substring(0, at) + text.substring(to);
            case 2 -> at < text.length() ? text.substring(0, at) + character(random) + text.substring(at + 1) : text;
            case 3, 4, 5, 6 -> word(text, any(VALUES, random), random);
            case 7 -> word(text, word(any(valid, random), random), random);
            case 8, 9, 10 -> lines(text, random);
            case 11 -> text.substring(0, at) + end(any(valid, random), random);
            case 12 -> text.substring(0, at) + bulk(random) + text.substring(at);
            default -> text.substring(0, at) + text.substring(at, to).repeat(2) + text.substring(to);
        };
    }

    private static String end(String text, SplittableRandom random) {
        return text.substring(random.nextInt(text.length() + 1));
    }

    private static String word(String text, SplittableRandom random) {
        Matcher words = WORD.matcher(text);
        return words.find(random.nextInt(text.length() + 1)) ? words.group() : "x";
    }

    private static String word(String text, String other, SplittableRandom random) {
        Matcher words = WORD.matcher(text);
        return words.find(random.nextInt(text.length() + 1))
                ? text.substring(0, words.start()) + other + text.substring(words.end())
                : text + other;
    }

    private static String lines(String text, SplittableRandom random) {
        List<String> lines = new ArrayList<>(List.of(text.split("\n", -1)));
        int at = random.nextInt(lines.size());
        String line = lines.get(at);
        switch (random.nextInt(6)) {
            case 0 -> lines.remove(at);
            case 1 -> lines.add(at, line);
            case 2 -> lines.set(at, lines.set(random.nextInt(lines.size()), line));
            case 3 -> lines.set(at, " ".repeat(random.nextInt(5)) + line);
            case 4 -> lines.set(at, line.stripLeading());
            default -> lines.set(at, "\t" + line);
        }
        return String.join("\n", lines);
    }

    /** Returns a deeply nested, long or repetitive text. */
    private static String bulk(SplittableRandom random) {
        int times = 1 << random.nextInt(11);
        return switch (random.nextInt(8)) {
            case 0 -> "[".repeat(times);
            case 1 -> "{a: ".repeat(times);
            case 2 -> "- ".repeat(times);
            case 3 -> "? ".repeat(times);
            case 4 -> "a".repeat(times);
            case 5 -> "9".repeat(times);
            case 6 -> "\n".repeat(times);
            default -> "*a, ".repeat(times);
        };
    }

    private static String character(SplittableRandom random) {
        return String.valueOf(CHARACTERS.charAt(random.nextInt(CHARACTERS.length())));
    }

    private static String any(List<String> texts, SplittableRandom random) {
        return texts.get(random.nextInt(texts.size()));
    }
}
