package dev.weir.config;

import static dev.weir.config.SettingChecks.requireBytes;
import static dev.weir.config.SettingChecks.requireDuration;
import static dev.weir.config.SettingChecks.requireRange;

import dev.weir.definition.YamlTree;
import dev.weir.policy.DurationsAndSizes;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * A setting of the configuration file: its full key, how its value is read, and which values it accepts. The record
 * that holds the value checks it with the same setting, so a value from the file and one from the code have the same
 * range.
 *
 * @param key such as {@code topics.partitions}
 * @param reader returns null if the value is at fault, which it notes
 * @param check throws IllegalArgumentException, with a message that begins with the key
 */
record Setting<T>(String key, Function<YamlTree, T> reader, Consumer<T> check) {

    /** A setting whose text is parsed by a function that may throw IllegalArgumentException. */
    static <T> Setting<T> of(String key, Function<String, T> parse, Consumer<T> check) {
        return new Setting<>(key, value -> value.read(parse), check);
    }

    /** @param rule what the text must be if it does not match the pattern */
    static Setting<String> text(String key, Pattern pattern, String rule) {
        return of(
                key,
                text -> text,
                text -> SettingChecks.require(
                        pattern.matcher(text).matches(), key + " must be " + rule + ", is '" + text + "'"));
    }

    static Setting<Integer> count(String key, int min, int max) {
        Setting<Long> number = number(key, min, max);
        return new Setting<>(
                key,
                value -> Optional.ofNullable(number.reader.apply(value))
                        .map(Long::intValue)
                        .orElse(null),
                count -> number.check.accept((long) count));
    }

    static Setting<Long> number(String key, long min, long max) {
        return new Setting<>(key, value -> value.wholeNumber(min, max), number -> requireRange(key, number, min, max));
    }

    static Setting<Long> bytes(String key, long min, long max) {
        return of(key, DurationsAndSizes::sizeBytes, bytes -> requireBytes(key, bytes, min, max));
    }

    static Setting<Duration> duration(String key, Duration min, Duration max) {
        return of(
                key,
                text -> Duration.ofMillis(DurationsAndSizes.durationMs(text)),
                duration -> requireDuration(key, duration, min, max));
    }

    /** @param what a file or a directory */
    static Setting<Path> path(String key, String what) {
        return of(key, text -> pathOf(text, what), path -> {});
    }

    private static Path pathOf(String text, String what) {
        SettingChecks.require(!text.isBlank(), "must be " + what + ", is '" + text + "'");
        return Path.of(text);
    }

    /** This setting, for a component that is empty if nothing is set. */
    Setting<Optional<T>> optional() {
        return new Setting<>(
                key,
                value -> Optional.ofNullable(reader.apply(value))
                        .map(Optional::of)
                        .orElse(null),
                value -> value.ifPresent(check));
    }

    /** @throws IllegalArgumentException if the value is not accepted */
    void require(T value) {
        check.accept(value);
    }

    /** The value in the file; {@code otherwise} if there is none, or if it is at fault, which is noted. */
    T read(YamlTree value, T otherwise) {
        T read = value.isPresent() ? reader.apply(value) : null;
        return read != null && value.noting(() -> accepted(read)) != null ? read : otherwise;
    }

    private T accepted(T value) {
        require(value);
        return value;
    }
}
