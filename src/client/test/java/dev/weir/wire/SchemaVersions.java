package dev.weir.wire;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;
import org.apache.avro.SchemaNormalization;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;

/**
 * The versions of the schemas.
 *
 * @param current the directory of the current versions, {@code NAME.avsc}
 * @param earlier the directory of earlier versions, {@code NAME.1.avsc} and so on; it need not exist
 */
record SchemaVersions(Path current, Path earlier) {

    /** A record of a version of a schema: a line of {@code written.txt}. */
    record Written(String name, int version, String fingerprint, String hex) {

        static Written of(String line) {
            String[] parts = line.split(" ", -1);
            return new Written(parts[0], Integer.parseInt(parts[1]), parts[2], parts[3]);
        }

        private static Written of(String name, int version, Schema schema, boolean full) {
            byte[] bytes = SampleRecord.bytes(SampleRecord.of(schema, full));
            String hex = HexFormat.of().formatHex(bytes);
            return new Written(name, version, SchemaVersions.fingerprint(schema), hex);
        }

        String line() {
            return name + " " + version + " " + fingerprint + " " + hex;
        }

        byte[] bytes() {
            return HexFormat.of().parseHex(hex);
        }

        @Override
        public String toString() {
            return name + " " + version;
        }
    }

    /** Returns all versions of a schema, oldest first. */
    List<Schema> of(String name) throws IOException {
        List<Schema> versions = new ArrayList<>();
        for (int version = 1; Files.exists(earlier.resolve(name + "." + version + ".avsc")); version++) {
            versions.add(schema(earlier.resolve(name + "." + version + ".avsc")));
        }
        versions.add(schema(current.resolve(name + ".avsc")));
        return versions;
    }

    Schema newest(String name) throws IOException {
        List<Schema> versions = of(name);
        return versions.get(versions.size() - 1);
    }

    /** Returns the lines that {@code written.txt} must have for a schema: for each version, two records. */
    List<String> lines(String name) throws IOException {
        List<String> lines = new ArrayList<>();
        List<Schema> versions = of(name);
        for (int version = 1; version <= versions.size(); version++) {
            for (boolean full : new boolean[] {true, false}) {
                lines.add(Written.of(name, version, versions.get(version - 1), full)
                        .line());
            }
        }
        return lines;
    }

    /** Returns which version of a schema cannot read which. */
    List<String> incompatible(String name) throws IOException {
        List<Schema> versions = of(name);
        List<String> faults = new ArrayList<>();
        for (int reader = 1; reader <= versions.size(); reader++) {
            for (int writer = 1; writer <= versions.size(); writer++) {
                SchemaCompatibilityType type = SchemaCompatibility.checkReaderWriterCompatibility(
                                versions.get(reader - 1), versions.get(writer - 1))
                        .getType();
                if (type != SchemaCompatibilityType.COMPATIBLE) {
                    faults.add(name + "." + reader + " cannot read " + name + "." + writer);
                }
            }
        }
        return faults;
    }

    /** Returns a record of any version as Avro reads it with the newest one. */
    byte[] asNewest(Written written) throws IOException {
        byte[] bytes = written.bytes();
        Schema then = of(written.name).get(written.version - 1);
        GenericRecord resolved = new GenericDatumReader<GenericRecord>(then, newest(written.name))
                .read(null, DecoderFactory.get().binaryDecoder(bytes, 10, bytes.length - 10, null));
        return SampleRecord.bytes(resolved);
    }

    private static Schema schema(Path file) throws IOException {
        return new Schema.Parser().parse(file.toFile());
    }

    private static String fingerprint(Schema schema) {
        return "%016X".formatted(SchemaNormalization.parsingFingerprint64(schema));
    }
}
