package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.SchemaVersions.Written;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Checks that current code, and readers with any other version, can read records of every version that the schemas had.
 * {@link EarlierSchemasTest} shows that these checks fail where they must.
 */
class SchemaVersionsTest {

    private static final Path SCHEMAS = Path.of("schemas");
    private static final SchemaVersions VERSIONS = new SchemaVersions(SCHEMAS, SCHEMAS.resolve("earlier"));

    /** One line per version and record: name, version, fingerprint, bytes. Lines are added and never changed. */
    private static final Path WRITTEN = Path.of("src/client/test/resources/schemas/written.txt");

    private static final Map<String, Reading> READ = Map.of(
            "RequestEvent", bytes -> new RequestCodec().decode(bytes, 1_000, new Request.Source(3, 14)),
            "Decision", new DecisionCodec()::decode,
            "Release", new ReleaseCodec()::decode,
            "Admission", new AdmissionAvro()::decode,
            "LeaseRequest", new LeaseRequestAvro()::decode,
            "LeaseUsage", new LeaseUsageAvro(Optional.empty())::decode,
            "LeaseResponse", bytes -> new LeaseResponseAvro().decode(bytes, 3),
            "PolicyRecord", bytes -> new PolicyAvro().decode("policy/id", bytes));

    private interface Reading {
        Object read(byte[] bytes) throws UnreadableException;
    }

    static List<Written> written() throws IOException {
        return Files.readAllLines(WRITTEN).stream().map(Written::of).toList();
    }

    @ParameterizedTest
    @MethodSource("written")
    void records_of_every_version_are_read_and_later_fields_have_defaults(Written written) throws Exception {
        Reading codec = READ.get(written.name());
        assertThat(codec.read(written.bytes()))
                .usingRecursiveComparison()
                .isEqualTo(codec.read(VERSIONS.asNewest(written)));
    }

    /** Fails if a schema has changed and its earlier version is not kept. */
    @Test
    void every_version_has_its_sample_records() throws IOException {
        List<String> lines = new ArrayList<>();
        for (String name : READ.keySet().stream().sorted().toList()) {
            lines.addAll(VERSIONS.lines(name));
        }
        assertThat(Files.readAllLines(WRITTEN))
                .as("keep the earlier version in schemas/earlier, and add records of the new one to written.txt")
                .containsExactlyElementsOf(lines);
    }

    @Test
    void every_schema_is_tested() throws IOException {
        try (Stream<Path> files = Files.walk(SCHEMAS)) {
            assertThat(files.map(file -> file.getFileName().toString())
                            .filter(file -> file.endsWith(".avsc"))
                            .map(file -> file.substring(0, file.indexOf('.')))
                            .distinct())
                    .containsExactlyInAnyOrderElementsOf(READ.keySet());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"RequestEvent", "Decision", "Release", "LeaseUsage"})
    void public_schemas_are_compatible_across_all_versions(String name) throws IOException {
        assertThat(VERSIONS.incompatible(name)).isEmpty();
    }
}
