package dev.weir.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Request;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;
import org.apache.avro.SchemaNormalization;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Checks that current code, and readers with any other version, can read records of every version that the schemas had.
 */
class SchemaVersionsTest {

    private static final Path SCHEMAS = Path.of("schemas");

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

    /** A record of a version of a schema. */
    record Written(String name, int version, String fingerprint, String hex) {

        static Written of(String line) {
            String[] parts = line.split(" ", -1);
            return new Written(parts[0], Integer.parseInt(parts[1]), parts[2], parts[3]);
        }

        static Written of(String name, int version, Schema schema, boolean full) {
            byte[] bytes = SampleRecord.bytes(SampleRecord.of(schema, full));
            return new Written(
                    name,
                    version,
                    SchemaVersionsTest.fingerprint(schema),
                    HexFormat.of().formatHex(bytes));
        }

        String line() {
            return name + " " + version + " " + fingerprint + " " + hex;
        }

        @Override
        public String toString() {
            return name + " " + version;
        }
    }

    static List<Written> written() throws IOException {
        return Files.readAllLines(WRITTEN).stream().map(Written::of).toList();
    }

    @ParameterizedTest
    @MethodSource("written")
    void records_of_every_version_are_read_and_later_fields_have_defaults(Written written) throws Exception {
        byte[] bytes = HexFormat.of().parseHex(written.hex);
        Schema today = versions(written.name).get(versions(written.name).size() - 1);
        Schema then = versions(written.name).get(written.version - 1);
        GenericRecord resolved = new GenericDatumReader<GenericRecord>(then, today)
                .read(null, DecoderFactory.get().binaryDecoder(bytes, 10, bytes.length - 10, null));
        assertThat(READ.get(written.name).read(bytes))
                .usingRecursiveComparison()
                .isEqualTo(READ.get(written.name).read(SampleRecord.bytes(resolved)));
    }

    /** Fails if a schema has changed and its earlier version is not kept. */
    @Test
    void every_version_has_its_sample_record() throws IOException {
        List<String> lines = new ArrayList<>();
        for (String name : READ.keySet().stream().sorted().toList()) {
            List<Schema> versions = versions(name);
            for (int version = 1; version <= versions.size(); version++) {
                lines.add(Written.of(name, version, versions.get(version - 1), true)
                        .line());
                lines.add(Written.of(name, version, versions.get(version - 1), false)
                        .line());
            }
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
        for (Schema reader : versions(name)) {
            for (Schema writer : versions(name)) {
                assertThat(SchemaCompatibility.checkReaderWriterCompatibility(reader, writer)
                                .getType())
                        .as("%s reads %s", fingerprint(reader), fingerprint(writer))
                        .isEqualTo(SchemaCompatibilityType.COMPATIBLE);
            }
        }
    }

    @Test
    void readers_of_the_first_version_read_current_decisions() throws IOException {
        Schema first = versions("Decision").get(0);
        Schema today = versions("Decision").get(versions("Decision").size() - 1);
        byte[] bytes = SampleRecord.bytes(SampleRecord.of(today, true));
        GenericRecord read = new GenericDatumReader<GenericRecord>(today, first)
                .read(null, DecoderFactory.get().binaryDecoder(bytes, 10, bytes.length - 10, null));
        assertThat(read.get("requestId")).hasToString("requestId");
        assertThat(read.get("retryAfterMs"))
                .isEqualTo(1_000L + today.getField("retryAfterMs").pos());
        assertThat(GenericData.get().validate(first, read)).isTrue();
    }

    /** Returns all versions of a schema, oldest first. */
    private static List<Schema> versions(String name) throws IOException {
        List<Schema> versions = new ArrayList<>();
        Path earlier = SCHEMAS.resolve("earlier");
        for (int version = 1; Files.exists(earlier.resolve(name + "." + version + ".avsc")); version++) {
            versions.add(schema(earlier.resolve(name + "." + version + ".avsc")));
        }
        versions.add(schema(SCHEMAS.resolve(name + ".avsc")));
        return versions;
    }

    private static Schema schema(Path file) throws IOException {
        return new Schema.Parser().parse(file.toFile());
    }

    private static String fingerprint(Schema schema) {
        return "%016X".formatted(SchemaNormalization.parsingFingerprint64(schema));
    }
}
