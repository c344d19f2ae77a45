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
 * with the value uses the same check, so values from the file and from code have the same range.
 *
 * @param key the full key, such as {@code topics.partitions}
 * @param reader reads the value; if it has a fault, records the fault and returns null
 * @param check throws IllegalArgumentException, with a message that starts with the key, if the value is not accepted
 */
public record Setting<T>(String key, Function<YamlTree, T> reader, Consumer<T> check) {

    /** Returns a setting whose text is parsed by a function that can throw IllegalArgumentException. */
    public static <T> Setting<T> of(String key, Function<String, T> parse, Consumer<T> check) {
        return new Setting<>(key, value -> value.read(parse), check);
    }

    /** @param rule describes the texts that match the pattern, for the message: "must be ‹rule›" */
    public static Setting<String> text(String key, Pattern pattern, String rule) {
        return of(
                key,
                text -> text,
                text -> SettingChecks.require(
                        pattern.matcher(text).matches(), key + " must be " + rule + ", is '" + text + "'"));
    }

    public static Setting<Integer> count(String key, int min, int max) {
        Setting<Long> number = number(key, min, max);
        return new Setting<>(
                key,
                value -> Optional.ofNullable(number.reader.apply(value))
                        .map(Long::intValue)
                        .orElse(null),
                count -> number.check.accept((long) count));
    }

    public static Setting<Long> number(String key, long min, long max) {
        return new Setting<>(key, value -> value.wholeNumber(min, max), number -> requireRange(key, number, min, max));
    }

    public static Setting<Long> bytes(String key, long min, long max) {
        return of(key, DurationsAndSizes::sizeBytes, bytes -> requireBytes(key, bytes, min, max));
    }

    public static Setting<Duration> duration(String key, Duration min, Duration max) {
        return of(
                key,
                text -> Duration.ofMillis(DurationsAndSizes.durationMs(text)),
                duration -> requireDuration(key, duration, min, max));
    }

    /** Returns a setting for a duration that can be 0, such as {@code 0s}. */
    public static Setting<Duration> durationOrZero(String key, Duration max) {
        return of(
                key,
                text -> Duration.ofMillis(DurationsAndSizes.durationOrZeroMs(text)),
                duration -> requireDuration(key, duration, Duration.ZERO, max));
    }

    /** @param what describes the path, for the message: "a file" or "a directory" */
    public static Setting<Path> path(String key, String what) {
        return of(key, text -> pathOf(text, what), path -> {});
    }

    private static Path pathOf(String text, String what) {
        SettingChecks.require(!text.isBlank(), "must be " + what + ", is '" + text + "'");
        return Path.of(text);
    }

    /** Returns this setting for an optional value, which is empty if the key is not set. */
    public Setting<Optional<T>> optional() {
        return new Setting<>(
                key,
                value -> Optional.ofNullable(reader.apply(value))
                        .map(Optional::of)
                        .orElse(null),
                value -> value.ifPresent(check));
    }

    /** @throws IllegalArgumentException if the value is not accepted */
    public void require(T value) {
        check.accept(value);
    }

    /** Returns the value in the file, or {@code otherwise} if it is missing or has a fault. Faults are recorded. */
    public T read(YamlTree value, T otherwise) {
        T read = value.isPresent() ? reader.apply(value) : null;
        return read != null && value.noting(() -> accepted(read)) != null ? read : otherwise;
    }

    private T accepted(T value) {
        require(value);
        return value;
    }
}
