package dev.weir.wire;

import dev.weir.event.Rejection;
import dev.weir.fault.UnreadableException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;
import org.apache.avro.SchemaNormalization;
import org.apache.avro.io.DatumReader;

/**
 * The schemas of records in Confluent's wire format: a zero byte, the id of the schema in four bytes, highest first,
 * the record. Each schema is requested from the registry once. Thread-safe.
 */
final class WriterSchemas<T> {

    static final int HEADER_LENGTH = 5;

    /**
     * The maximum number of schemas that are kept. Producers use a few; if there are more, all are discarded and
     * requested again.
     */
    private static final int MAX_KNOWN = 1_000;

    /**
     * For how long an id that the registry does not have is not requested again. Later it is, because a registry can be
     * restored, and a schema can be registered under the id.
     */
    static final long MISSING_NANOS = 5_000_000_000L;

    /**
     * The maximum number of parts of a schema. It bounds the time and the depth of skipping fields that Weir does
     * not read.
     */
    private static final int MAX_PARTS = 1_000;

    private final SchemaRegistry registry;
    private final Schema wanted;
    private final long fingerprint;
    private final Map<Integer, Writer<T>> known = new ConcurrentHashMap<>();
    private final Map<Integer, Long> missingSinceNanos = new ConcurrentHashMap<>();
    private final LongSupplier nanoTime;

    /**
     * The schema that wrote a record.
     *
     * @param reader reads its records as the wanted schema; null if they cannot be read
     * @param isWanted whether its records have the same layout as those of the wanted schema
     * @param fault why its records cannot be read; null if they can
     */
    record Writer<T>(DatumReader<T> reader, boolean isWanted, String fault) {}

    /**
     * Creates an instance without known schemas.
     *
     * @param wanted the schema that records are read as
     */
    WriterSchemas(SchemaRegistry registry, Schema wanted) {
        this(registry, wanted, System::nanoTime);
    }

    WriterSchemas(SchemaRegistry registry, Schema wanted, LongSupplier nanoTime) {
        this.registry = registry;
        this.nanoTime = nanoTime;
        this.wanted = wanted;
        fingerprint = SchemaNormalization.parsingFingerprint64(wanted);
    }

    static boolean isFramed(byte[] bytes) {
        return bytes.length >= HEADER_LENGTH && bytes[0] == 0;
    }

    static byte[] header(int id) {
        return new byte[] {0, (byte) (id >> 24), (byte) (id >> 16), (byte) (id >> 8), (byte) id};
    }

    /**
     * Returns the writer of a record that {@link #isFramed}.
     *
     * @throws UnreadableException if its schema is unknown or not compatible with the wanted one
     * @throws RegistryException if the registry does not respond
     */
    Writer<T> of(byte[] bytes) throws UnreadableException {
        int id = (bytes[1] & 0xFF) << 24 | (bytes[2] & 0xFF) << 16 | (bytes[3] & 0xFF) << 8 | (bytes[4] & 0xFF);
        Writer<T> writer = known.get(id);
        if (writer == null) {
            writer = lookUp(id);
            if (known.size() >= MAX_KNOWN) {
                known.clear();
            }
            known.put(id, writer);
        }
        if (writer.fault() != null) {
            throw new UnreadableException(Rejection.UNKNOWN_SCHEMA, "schema " + id + " " + writer.fault());
        }
        return writer;
    }

    private Writer<T> lookUp(int id) throws UnreadableException {
        Long sinceNanos = missingSinceNanos.get(id);
        boolean isMissing = sinceNanos != null && nanoTime.getAsLong() - sinceNanos < MISSING_NANOS;
        Optional<List<String>> texts = isMissing ? Optional.empty() : registry.schema(id);
        if (texts.isEmpty()) {
            if (!isMissing) {
                if (missingSinceNanos.size() >= MAX_KNOWN) {
                    missingSinceNanos.clear();
                }
                missingSinceNanos.put(id, nanoTime.getAsLong());
            }
            throw new UnreadableException(Rejection.UNKNOWN_SCHEMA, "the registry has no schema " + id);
        }
        missingSinceNanos.remove(id);
        try {
            return writer(parse(texts.get()));
        } catch (AvroRuntimeException e) {
            return new Writer<>(null, false, "is not an Avro schema: " + e.getMessage());
        }
    }

    /**
     * Returns what remains of a budget of parts after counting those of a schema. A named type counts at each of
     * its uses.
     */
    private static int remaining(Schema schema, int budget) {
        int left = budget - 1;
        for (Schema part : parts(schema)) {
            if (left <= 0) {
                return 0;
            }
            left = remaining(part, left);
        }
        return Math.max(0, left);
    }

    private static List<Schema> parts(Schema schema) {
        return switch (schema.getType()) {
            case RECORD -> schema.getFields().stream().map(Schema.Field::schema).toList();
            case ARRAY -> List.of(schema.getElementType());
            case MAP -> List.of(schema.getValueType());
            case UNION -> schema.getTypes();
            default -> List.of();
        };
    }

    private static Schema parse(List<String> texts) {
        Schema.Parser parser = new Schema.Parser();
        Schema last = null;
        for (String text : texts) {
            last = parser.parse(text);
        }
        return last;
    }

    private Writer<T> writer(Schema written) {
        if (remaining(written, MAX_PARTS) == 0) {
            return new Writer<>(null, false, "has more than " + MAX_PARTS + " parts, or is recursive");
        }
        SchemaCompatibilityType compatible = SchemaCompatibility.checkReaderWriterCompatibility(wanted, written)
                .getType();
        if (compatible != SchemaCompatibilityType.COMPATIBLE) {
            return new Writer<>(null, false, "is not compatible with " + wanted.getFullName());
        }
        boolean isWanted = SchemaNormalization.parsingFingerprint64(written) == fingerprint;
        return new Writer<>(GeneratedClasses.reader(written, wanted), isWanted, null);
    }
}
