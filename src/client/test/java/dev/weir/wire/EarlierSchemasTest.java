package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.avro.Release;
import dev.weir.event.Rejection;
import dev.weir.fault.UnreadableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.junit.jupiter.api.Test;

/**
 * Tests how earlier versions of a schema are read, and that {@link SchemaVersionsTest} finds what is wrong with them.
 * No schema has an earlier version yet, so that these are invented: {@code Release.1} has no {@code queueKey}, and
 * {@code Decision.1} has a text as {@code decidedAt}.
 */
class EarlierSchemasTest {

    private static final String INVENTED = "/schemas/invented/";
    private static final SchemaVersions VERSIONS = new SchemaVersions(
            Path.of("schemas"), Path.of("src/client/test/resources").resolve(INVENTED.substring(1)));

    private final List<Schema> earlier = AvroBytes.earlierVersions(INVENTED, "Release");
    private final AvroBytes<Release> releases = codec(earlier);

    private static AvroBytes<Release> codec(List<Schema> earlier) {
        return new AvroBytes<>(new Release(), earlier, AvroBytes.MAX_ITEMS, Optional.empty());
    }

    private byte[] written() {
        return SampleRecord.bytes(SampleRecord.of(earlier.get(0), true));
    }

    @Test
    void the_versions_in_a_directory_are_numbered_from_one() {
        assertThat(earlier).singleElement().satisfies(version -> assertThat(version.getField("queueKey"))
                .isNull());
        assertThat(AvroBytes.earlierVersions(INVENTED, "LeaseUsage")).isEmpty();
    }

    @Test
    void a_record_of_an_earlier_version_is_read_and_later_fields_have_defaults() throws UnreadableException {
        Release release = releases.decode(written());
        GenericRecord then = SampleRecord.of(earlier.get(0), true);
        assertThat(release.getRequestId()).isEqualTo(then.get("requestId"));
        assertThat(release.getSequence()).isEqualTo(then.get("sequence"));
        assertThat(release.getAttributes()).isEqualTo(then.get("attributes"));
        assertThat(release.getQueueKey()).isEqualTo(Map.of());
    }

    @Test
    void a_record_of_an_unknown_version_is_rejected() {
        AvroBytes<Release> withoutEarlier = codec(List.of());
        assertThatThrownBy(() -> withoutEarlier.decode(written()))
                .hasMessageStartingWith("Cannot resolve schema for fingerprint: ")
                .isInstanceOfSatisfying(UnreadableException.class, e -> assertThat(e.rejection())
                        .isEqualTo(Rejection.UNKNOWN_SCHEMA));
    }

    @Test
    void trailing_bytes_make_a_record_of_an_earlier_version_invalid() {
        byte[] longer = Arrays.copyOf(written(), written().length + 3);
        assertThatThrownBy(() -> releases.decode(longer)).hasMessage("3 unexpected bytes after the record");
    }

    @Test
    void an_unknown_reason_of_a_later_version_is_named() throws IOException {
        GenericRecord later = SampleRecord.of(VERSIONS.newest("Decision"), false);
        later.put("reason", "FULL_MOON");
        assertThatThrownBy(() -> new DecisionCodec().decode(SampleRecord.bytes(later)))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("unknown reason, of a later version: FULL_MOON");
    }

    @Test
    void each_earlier_version_needs_sample_records() throws IOException {
        List<String> lines = VERSIONS.lines("Release");
        assertThat(lines).hasSize(4);
        List<String> written = Files.readAllLines(Path.of("src/client/test/resources/schemas/written.txt"));
        assertThat(written).doesNotContainAnyElementsOf(lines); // the current version would be the second
    }

    @Test
    void an_incompatible_earlier_version_is_found() throws IOException {
        assertThat(VERSIONS.incompatible("Release")).isEmpty();
        assertThat(VERSIONS.incompatible("Decision"))
                .containsExactly("Decision.1 cannot read Decision.2", "Decision.2 cannot read Decision.1");
    }
}
