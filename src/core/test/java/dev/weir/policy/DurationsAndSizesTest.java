package dev.weir.policy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DurationsAndSizesTest {

    @ParameterizedTest
    @CsvSource({
        "1ms, 1",
        "500ms, 500",
        "1s, 1000",
        "11s, 11000",
        "1 second, 1000",
        "2 seconds, 2000",
        "1m, 60000",
        "1minute, 60000",
        "90 minutes, 5400000",
        "2h, 7200000",
        "1 hour, 3600000",
        "24 hours, 86400000",
        "1d, 86400000",
        "1 day, 86400000",
        "30 days, 2592000000",
        "' 5s ', 5000",
        "007s, 7000"
    })
    void reads_durations(String text, long ms) {
        assertThat(DurationsAndSizes.durationMs(text)).isEqualTo(ms);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "s",
                "5",
                "0s",
                "0",
                "-1s",
                "+1s",
                "1.5s",
                "1e3s",
                "1 fortnight",
                "1M",
                "1S",
                "1us",
                "1s 2",
                "1s2ms",
                "1_000ms",
                "٣s",
                "1000000000000000000s",
                "12345678901234567890ms"
            })
    void rejects_invalid_durations(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DurationsAndSizes.durationMs(text))
                .withMessage("must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '%s'", text);
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "0ms, 0", "' 00 s', 0", "0 days, 0", "1ms, 1", "2s, 2000"})
    void reads_optional_durations(String text, long ms) {
        assertThat(DurationsAndSizes.durationOrZeroMs(text)).isEqualTo(ms);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "1", "0 weeks", "-0", "0.0", "s"})
    void rejects_invalid_optional_durations(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DurationsAndSizes.durationOrZeroMs(text))
                .withMessage("must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '%s'", text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"999999999999999999s", "106751991168d", "999999999999999999 days"})
    void rejects_durations_that_overflow(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DurationsAndSizes.durationMs(text))
                .withMessage("is too large: '%s'", text);
    }

    @ParameterizedTest
    @CsvSource({
        "1, 1",
        "1500, 1500",
        "1500B, 1500",
        "1KB, 1000",
        "1 KiB, 1024",
        "64KiB, 65536",
        "10MB, 10000000",
        "1MiB, 1048576",
        "1GB, 1000000000",
        "2GiB, 2147483648"
    })
    void reads_sizes(String text, long bytes) {
        assertThat(DurationsAndSizes.sizeBytes(text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "0KiB", "-5", "1.5MB", "64kib", "64K", "KiB", "1TB", "10s"})
    void rejects_invalid_sizes(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DurationsAndSizes.sizeBytes(text))
                .withMessage("must be a size such as 1500, 64KiB or 10MB, is '%s'", text);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0s",
        "1, 1ms",
        "999, 999ms",
        "1000, 1s",
        "90000, 90s",
        "60000, 1m",
        "5400000, 90m",
        "7200000, 2h",
        "86400000, 1d",
        "90000000, 25h",
        "1209600000, 14d"
    })
    void writes_durations_in_the_largest_whole_unit(long ms, String text) {
        assertThat(DurationsAndSizes.duration(ms)).isEqualTo(text);
    }

    @Test
    void reads_back_what_it_writes() {
        Random random = new Random(5);
        for (int i = 0; i < 10_000; i++) {
            long ms = 1 + random.nextLong(1L << (1 + random.nextInt(55)));
            assertThat(DurationsAndSizes.durationMs(DurationsAndSizes.duration(ms)))
                    .isEqualTo(ms);
        }
    }

    /** The live page writes the same: {@code duration} of {@code format.js}. */
    @ParameterizedTest
    @CsvSource({
        "0, 0s",
        "1, 1ms",
        "999, 999ms",
        "1000, 1s",
        "1004, 1s",
        "1005, 1.01s",
        "2449, 2.45s",
        "2500, 2.5s",
        "9994, 9.99s",
        "9999, 10s",
        "24999, 24s",
        "60000, 1m",
        "75400, 1m 15s",
        "3600000, 1h",
        "3659000, 1h",
        "7500000, 2h 5m",
        "266400000, 3d 2h"
    })
    void rounds_measured_durations_to_two_units(long ms, String text) {
        assertThat(DurationsAndSizes.rounded(ms)).isEqualTo(text);
    }
}
