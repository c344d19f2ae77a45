package dev.weir.codec;

import dev.weir.policy.Rejection;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.SchemaNormalization;
import org.apache.avro.io.DatumReader;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificRecord;

/**
 * Avro records in single-object encoding: two marker bytes, the schema's fingerprint, the record. Threads may share an
 * instance.
 */
final class AvroBytes<T extends SpecificRecord> {

    static final int HEADER_LENGTH = 10;

    /** As many attributes as may be configured. */
    static final int MAX_ITEMS = 10_000;

    private static final byte[] MARKER = {(byte) 0xC3, 1};
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final BinaryMessageEncoder<T> encoder;
    private final int maxItems;
    private final Map<Long, DatumReader<T>> readers = new HashMap<>();

    /** @param earlier how many earlier versions of the schema are read too, those in {@code schemas/earlier} */
    AvroBytes(T prototype, int earlier) {
        this(prototype, earlier, MAX_ITEMS);
    }

    /** @param maxItems the most items of all lists and maps of a record together */
    AvroBytes(T prototype, int earlier, int maxItems) {
        this.maxItems = maxItems;
        encoder = new BinaryMessageEncoder<>(SpecificData.get(), prototype.getSchema());
        read(prototype.getSchema(), prototype.getSchema());
        for (int version = 1; version <= earlier; version++) {
            String earlierSchema = "/schemas/earlier/" + prototype.getSchema().getName() + "." + version + ".avsc";
            read(schema(earlierSchema), prototype.getSchema());
        }
    }

    /**
     * For a schema whose newest version is written, or read, elsewhere, field by field.
     *
     * @param known the fingerprint of the version that is known there
     * @throws IllegalStateException if there is a newer one
     */
    static <T extends SpecificRecord> AvroBytes<T> besides(long known, T prototype, int earlier) {
        return besides(known, prototype, earlier, MAX_ITEMS);
    }

    static <T extends SpecificRecord> AvroBytes<T> besides(long known, T prototype, int earlier, int maxItems) {
        if (SchemaNormalization.parsingFingerprint64(prototype.getSchema()) != known) {
            throw new IllegalStateException(
                    prototype.getSchema().getName() + " has fields that its codec does not know: see schemas/");
        }
        return new AvroBytes<>(prototype, earlier, maxItems);
    }

    private void read(Schema written, Schema wanted) {
        readers.put(SchemaNormalization.parsingFingerprint64(written), new SpecificDatumReader<>(written, wanted));
    }

    byte[] encode(T event) {
        try {
            return toArray(encoder.encode(event));
        } catch (IOException e) {
            throw new UncheckedIOException(e); // it writes to memory
        }
    }

    /** @throws UnreadableException if they are null, or no record of a known schema */
    T decode(byte[] bytes) throws UnreadableException {
        if (bytes == null) {
            throw new UnreadableException(Rejection.NOT_AVRO, "the record has no value");
        }
        if (!hasHeader(bytes)) {
            throw new UnreadableException(Rejection.NOT_AVRO, "Unrecognized header bytes");
        }
        long fingerprint = (long) LONG.get(bytes, MARKER.length);
        DatumReader<T> reader = readers.get(fingerprint);
        if (reader == null) {
            throw new UnreadableException(
                    Rejection.UNKNOWN_SCHEMA, "Cannot resolve schema for fingerprint: " + fingerprint);
        }
        try {
            return reader.read(null, new BytesDecoder(bytes, HEADER_LENGTH, maxItems));
        } catch (IOException | AvroRuntimeException | UnsupportedOperationException | IndexOutOfBoundsException e) {
            throw new UnreadableException(Rejection.NOT_AVRO, e);
        }
    }

    private static boolean hasHeader(byte[] bytes) {
        return bytes.length >= HEADER_LENGTH && bytes[0] == MARKER[0] && bytes[1] == MARKER[1];
    }

    /** Whether they begin as a record of the schema of this fingerprint does. */
    static boolean isOf(long fingerprint, byte[] bytes) {
        return bytes != null && hasHeader(bytes) && (long) LONG.get(bytes, MARKER.length) == fingerprint;
    }

    /** Begins bytes with the header of a schema; returns where the record comes. */
    static int writeHeader(byte[] bytes, long fingerprint) {
        bytes[0] = MARKER[0];
        bytes[1] = MARKER[1];
        LONG.set(bytes, MARKER.length, fingerprint);
        return HEADER_LENGTH;
    }

    private static Schema schema(String resource) {
        try (InputStream in = AvroBytes.class.getResourceAsStream(resource)) {
            return new Schema.Parser().parse(in);
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
