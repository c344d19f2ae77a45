package dev.weir.wire;

import dev.weir.event.Rejection;
import dev.weir.fault.UnreadableException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.SchemaNormalization;
import org.apache.avro.io.DatumReader;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;

/**
 * A codec of Avro records in single-object encoding: two marker bytes, the fingerprint of the schema, the record. With
 * a schema registry it also reads Confluent's wire format, which begins with another byte. Thread-safe.
 */
final class AvroBytes<T extends SpecificRecord> {

    static final int HEADER_LENGTH = 10;

    /** The default bound on the items of a record: the maximum number of attributes that can be configured. */
    static final int MAX_ITEMS = 10_000;

    private static final String SCHEMAS = "/schemas/";
    private static final String EARLIER = SCHEMAS + "earlier/";
    private static final byte[] MARKER = {(byte) 0xC3, 1};
    private static final OptionalInt AFTER_FINGERPRINT = OptionalInt.of(HEADER_LENGTH);
    private static final OptionalInt AFTER_ID = OptionalInt.of(WriterSchemas.HEADER_LENGTH);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    /**
     * What all codecs of one schema have in common. It takes a millisecond to find and compute.
     *
     * @param newest the fingerprint of the schema
     * @param encoder encodes records of the schema
     * @param earlier the earlier versions of the schema that are read, too, by their fingerprints
     */
    private record Versions(
            Schema schema, long newest, BinaryMessageEncoder<SpecificRecord> encoder, Map<Long, Schema> earlier) {

        private static final ClassValue<Versions> BY_CLASS = new ClassValue<>() {
            @Override
            protected Versions computeValue(Class<?> type) {
                Schema schema = SpecificData.get().getSchema(type);
                return of(schema, earlierVersions(EARLIER, schema.getName()));
            }
        };

        static Versions of(Schema schema, List<Schema> earlier) {
            Map<Long, Schema> byFingerprint = new LinkedHashMap<>();
            earlier.forEach(version -> byFingerprint.put(SchemaNormalization.parsingFingerprint64(version), version));
            return new Versions(
                    schema,
                    SchemaNormalization.parsingFingerprint64(schema),
                    new BinaryMessageEncoder<>(SpecificData.get(), schema),
                    byFingerprint);
        }
    }

    private final Schema schema;
    private final long newest;
    private final int maxItems;
    private final BinaryMessageEncoder<SpecificRecord> encoder;
    private final Map<Long, DatumReader<T>> readers = new HashMap<>();
    private final Optional<WriterSchemas<T>> framed;

    /** Creates a codec without a schema registry, which also reads the versions in {@code schemas/earlier}. */
    AvroBytes(T prototype) {
        this(prototype, MAX_ITEMS, Optional.empty());
    }

    private AvroBytes(T prototype, int maxItems, Optional<SchemaRegistry> registry) {
        this(Versions.BY_CLASS.get(prototype.getClass()), maxItems, registry);
    }

    /**
     * Creates a codec.
     *
     * @param earlier the earlier versions of the schema that are read, too
     * @param maxItems the maximum number of items of all lists and maps of a record together
     */
    AvroBytes(T prototype, List<Schema> earlier, int maxItems, Optional<SchemaRegistry> registry) {
        this(Versions.of(prototype.getSchema(), earlier), maxItems, registry);
    }

    private AvroBytes(Versions versions, int maxItems, Optional<SchemaRegistry> registry) {
        this.maxItems = maxItems;
        schema = versions.schema;
        newest = versions.newest;
        encoder = versions.encoder;
        framed = registry.map(one -> new WriterSchemas<>(one, schema));
        readers.put(newest, GeneratedClasses.reader(schema, schema));
        versions.earlier.forEach(
                (fingerprint, version) -> readers.put(fingerprint, GeneratedClasses.reader(version, schema)));
    }

    /**
     * Returns a codec for a schema whose newest version is written or read field by field by the caller.
     *
     * @param known the fingerprint of the version that the caller knows
     * @param registry contains the schemas of records in Confluent's wire format
     * @throws IllegalStateException if there is a newer version
     */
    static <T extends SpecificRecord> AvroBytes<T> withRegistry(
            long known, T prototype, Optional<SchemaRegistry> registry) {
        return withRegistry(known, new AvroBytes<>(prototype, MAX_ITEMS, registry));
    }

    static <T extends SpecificRecord> AvroBytes<T> withRegistry(long known, T prototype, int maxItems) {
        return withRegistry(known, new AvroBytes<>(prototype, maxItems, Optional.empty()));
    }

    private static <T extends SpecificRecord> AvroBytes<T> withRegistry(long known, AvroBytes<T> avro) {
        if (avro.newest != known) {
            throw new IllegalStateException(
                    "the schema of %s has changed: adapt the class that encodes it, and the fingerprint there to 0x%XL"
                            .formatted(avro.schema.getName(), avro.newest));
        }
        return avro;
    }

    byte[] encode(T event) {
        try {
            return toArray(encoder.encode(event));
        } catch (IOException e) {
            throw new UncheckedIOException(e); // cannot happen: it writes to memory
        }
    }

    /**
     * Decodes a record of any version.
     *
     * @throws UnreadableException if the bytes are null or not a record with a known schema
     * @throws RegistryException if the registry that has its schema does not respond
     */
    T decode(byte[] bytes) throws UnreadableException {
        if (bytes == null) {
            throw new UnreadableException(Rejection.NOT_AVRO, "the record has no value");
        }
        return framed.isPresent() && WriterSchemas.isFramed(bytes)
                ? decode(
                        bytes,
                        WriterSchemas.HEADER_LENGTH,
                        framed.get().of(bytes).reader())
                : decode(bytes, HEADER_LENGTH, reader(bytes));
    }

    private T decode(byte[] bytes, int start, DatumReader<T> reader) throws UnreadableException {
        try {
            BytesDecoder in = new BytesDecoder(bytes, start, maxItems);
            T record = reader.read(null, in);
            in.end();
            return record;
        } catch (IOException | AvroRuntimeException | UnsupportedOperationException | IndexOutOfBoundsException e) {
            throw new UnreadableException(Rejection.NOT_AVRO, e);
        }
    }

    private DatumReader<T> reader(byte[] bytes) throws UnreadableException {
        if (!hasHeader(bytes)) {
            throw new UnreadableException(Rejection.NOT_AVRO, "Unrecognized header bytes");
        }
        long fingerprint = (long) LONG.get(bytes, MARKER.length);
        DatumReader<T> reader = readers.get(fingerprint);
        if (reader == null) {
            throw new UnreadableException(
                    Rejection.UNKNOWN_SCHEMA, "Cannot resolve schema for fingerprint: " + fingerprint);
        }
        return reader;
    }

    /**
     * Returns the length of the header, if the record has the newest version of the schema or the same layout;
     * otherwise empty.
     *
     * @throws UnreadableException if the registry does not have the schema, or the schema is not compatible
     * @throws RegistryException if the registry does not respond
     */
    OptionalInt startOfNewest(byte[] bytes) throws UnreadableException {
        if (bytes != null && hasHeader(bytes)) {
            return (long) LONG.get(bytes, MARKER.length) == newest ? AFTER_FINGERPRINT : OptionalInt.empty();
        }
        boolean isNewest = bytes != null
                && framed.isPresent()
                && WriterSchemas.isFramed(bytes)
                && framed.get().of(bytes).isWanted();
        return isNewest ? AFTER_ID : OptionalInt.empty();
    }

    /** Returns whether the bytes begin with the header of an encoding that this codec reads. */
    boolean recognizes(byte[] bytes) {
        return hasHeader(bytes) || framed.isPresent() && WriterSchemas.isFramed(bytes);
    }

    private static boolean hasHeader(byte[] bytes) {
        return bytes.length >= HEADER_LENGTH && bytes[0] == MARKER[0] && bytes[1] == MARKER[1];
    }

    /** Returns the header of records with a schema, in single-object encoding. */
    static byte[] header(long fingerprint) {
        byte[] header = new byte[HEADER_LENGTH];
        System.arraycopy(MARKER, 0, header, 0, MARKER.length);
        LONG.set(header, MARKER.length, fingerprint);
        return header;
    }

    /**
     * Returns the header of records of the newest version on a topic: with a registry, that of Confluent's wire format.
     */
    byte[] header(Optional<SchemaRegistry> registry, String topic) {
        return registry.map(one -> WriterSchemas.header(one.id(
                        topic,
                        schema(SCHEMAS + schema.getName() + ".avsc")
                                .orElseThrow()
                                .toString())))
                .orElseGet(() -> header(newest));
    }

    /**
     * Returns the earlier versions of a schema, oldest first: the files {@code NAME.1.avsc}, {@code NAME.2.avsc} and so
     * on in a directory of the class path.
     */
    static List<Schema> earlierVersions(String directory, String name) {
        List<Schema> versions = new ArrayList<>();
        Optional<Schema> next;
        do {
            next = schema(directory + name + "." + (versions.size() + 1) + ".avsc");
            next.ifPresent(versions::add);
        } while (next.isPresent());
        return versions;
    }

    /** Returns a schema as it is in its file, without what the generated classes add; empty if there is no file. */
    private static Optional<Schema> schema(String resource) {
        try (InputStream in = AvroBytes.class.getResourceAsStream(resource)) {
            return in == null ? Optional.empty() : Optional.of(new Schema.Parser().parse(in));
        } catch (IOException e) {
            throw new UncheckedIOException(resource, e);
        }
    }

    static byte[] toArray(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    static ByteBuffer toBuffer(byte[] bytes) {
        return bytes == null ? null : ByteBuffer.wrap(bytes);
    }

    static Instant toInstant(Long ms) {
        return ms == null ? null : Instant.ofEpochMilli(ms);
    }

    static Long toMs(Instant instant) {
        return instant == null ? null : (Long) instant.toEpochMilli();
    }
}
