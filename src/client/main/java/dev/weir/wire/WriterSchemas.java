package dev.weir.wire;

import dev.weir.event.Rejection;
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
import org.apache.avro.specific.SpecificDatumReader;

/**
 * The schemas that records in Confluent's wire format were written by, each asked of the registry once: a zero byte,
 * the schema's id in four bytes, highest first, the record.
 */
final class WriterSchemas<T> {

    static final int HEADER_LENGTH = 5;

    /** Producers have a few; more are forgotten and asked for again. */
    private static final int MAX_KNOWN = 1_000;

    /**
     * How long an id that the registry does not have is not asked for again. Not for good: a registry may be given back
     * what it has lost, and a schema may be registered under the id.
     */
    static final long MISSING_NANOS = 5_000_000_000L;

    /** So that what a schema has and Weir does not want is skipped in bounded time and depth. */
    private static final int MAX_PARTS = 1_000;

    private final SchemaRegistry registry;
    private final Schema wanted;
    private final long fingerprint;
    private final Map<Integer, Writer<T>> known = new ConcurrentHashMap<>();
    private final Map<Integer, Long> missingSinceNanos = new ConcurrentHashMap<>();
    private final LongSupplier nanoTime;

    /**
     * What wrote a record.
     *
     * @param reader reads its records as the schema that is wanted
     * @param isWanted whether its records are laid out as those of that schema
     * @param fault why it cannot be read; null if it can
     */
    record Writer<T>(DatumReader<T> reader, boolean isWanted, String fault) {}

    /** @param wanted what its records are read as */
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
     * Who wrote a record that {@link #isFramed}.
     *
     * @throws UnreadableException if its schema is unknown, or what it writes cannot be what is wanted
     * @throws RegistryException if the registry does not answer
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
            return new Writer<>(null, false, "is no Avro schema: " + e.getMessage());
        }
    }

    /** Of a budget of parts, what is left behind a schema; a named type counts wherever it is used. */
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
            return new Writer<>(null, false, "has more than " + MAX_PARTS + " parts, or holds itself");
        }
        SchemaCompatibilityType compatible = SchemaCompatibility.checkReaderWriterCompatibility(wanted, written)
                .getType();
        if (compatible != SchemaCompatibilityType.COMPATIBLE) {
            return new Writer<>(null, false, "does not resolve to " + wanted.getFullName());
        }
        boolean isWanted = SchemaNormalization.parsingFingerprint64(written) == fingerprint;
        return new Writer<>(new SpecificDatumReader<>(written, wanted), isWanted, null);
    }
}
