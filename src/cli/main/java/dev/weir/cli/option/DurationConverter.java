package dev.weir.cli.option;

import dev.weir.policy.DurationsAndSizes;
import java.time.Duration;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads durations in options, such as 500ms, 10s or 1m, as in policy files: above 0. */
public final class DurationConverter implements ITypeConverter<Duration> {

    @Override
    public Duration convert(String text) {
        try {
            return Duration.ofMillis(DurationsAndSizes.durationMs(text));
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }

    /** Reads such durations, and also 0. */
    public static final class OrZero implements ITypeConverter<Duration> {

        @Override
        public Duration convert(String text) {
            try {
                return Duration.ofMillis(DurationsAndSizes.durationOrZeroMs(text));
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(e.getMessage());
            }
        }
    }
}
