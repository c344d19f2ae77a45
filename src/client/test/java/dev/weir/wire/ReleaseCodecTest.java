package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Rejection;
import dev.weir.event.Release;
import dev.weir.fault.UnreadableException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReleaseCodecTest {

    private final ReleaseCodec avro = new ReleaseCodec();
    private final ReleaseCodec json = new ReleaseCodec(Optional.empty(), "releases", OutputFormat.JSON);

    @Test
    void a_release_survives_a_round_trip() throws UnreadableException {
        assertComesBack(Release.builder("żądanie", "żółw", "kolejka-łąk")
                .tier("złoto")
                .sequence(Long.MAX_VALUE)
                .enqueuedAtMs(1_000)
                .releaseAtNanos(1_785_000_000_123_456_789L)
                .cost(Long.MAX_VALUE)
                .attributes(Map.of("endpoint", "/łąka", "", ""))
                .payload(new byte[] {0, -1, 127})
                .pace(new Release.Pace(200_000_000, Long.MAX_VALUE))
                .build());
    }

    @Test
    void absent_fields_stay_absent() throws UnreadableException {
        assertComesBack(Release.builder("", "", "").sequence(0).cost(0).build());
        assertComesBack(Release.builder("r", "c", "q")
                .tier("")
                .cost(0)
                .payload(new byte[0])
                .build());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 999_999_999, 1_000_000_000, 1_000_020_001, 1_785_000_000_123_456_789L, Long.MAX_VALUE})
    void the_time_of_release_keeps_its_nanoseconds(long releaseAtNanos) throws UnreadableException {
        assertComesBack(
                Release.builder("r", "c", "q").releaseAtNanos(releaseAtNanos).build());
    }

    @Test
    void invalid_bytes_of_a_release_are_rejected() {
        assertThatThrownBy(() -> avro.decode(new byte[] {1}))
                .isInstanceOfSatisfying(UnreadableException.class, e -> assertThat(e.rejection())
                        .isEqualTo(Rejection.NOT_AVRO));
        assertThatThrownBy(() -> avro.decode(null))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("the record has no value");
        byte[] early = avro.encode(
                Release.builder("r", "c", "q").releaseAtNanos(-1_000_000_000).build());
        assertThatThrownBy(() -> avro.decode(early))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("releaseAt must not be before 1970");
    }

    @Test
    void invalid_json_of_a_release_is_rejected() {
        String good = new String(
                json.encode(Release.builder("r", "c", "q").releaseAtNanos(1_500).build()), StandardCharsets.UTF_8);
        assertThat(good).contains("\"releaseAt\":0.0015,").doesNotContain("\n");
        Map<String, String> bad = Map.of(
                good.replace("\"client\":\"c\",", ""), "client is required",
                good.replace("\"c\"", "7"), "client must be a string",
                good.replace("0.0015", "0.00000015"), "releaseAt must be a number with at most 6 decimals",
                good.replace("\"sequence\":1", "\"sequence\":1.5"), "sequence must be a whole number, is 1.5");
        bad.forEach((text, message) -> assertThatThrownBy(() -> avro.decode(text.getBytes(StandardCharsets.UTF_8)))
                .isInstanceOf(UnreadableException.class)
                .hasMessage(message));
        assertThatThrownBy(() -> avro.decode(new byte[] {'{'})).isInstanceOf(UnreadableException.class);
    }

    private void assertComesBack(Release release) throws UnreadableException {
        for (ReleaseCodec codec : List.of(avro, json)) {
            assertThat(avro.decode(codec.encode(release)))
                    .usingRecursiveComparison()
                    .ignoringCollectionOrder()
                    .isEqualTo(release);
        }
    }
}
