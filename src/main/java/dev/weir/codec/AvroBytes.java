package dev.weir.codec;

import dev.weir.policy.Rejection;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Instant;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.message.BadHeaderException;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.avro.message.MissingSchemaException;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificRecord;

/**
 * Avro records in single-object encoding: two marker bytes, the schema's fingerprint, the record. Threads may share an
 * instance.
 */
final class AvroBytes<T extends SpecificRecord> {

    /** More than a record of a topic can have: a length beyond is a lie, not to be allocated. */
    private static final String MAX_LENGTH = String.valueOf(16 << 20);

    private static final String MAX_ITEMS = "10000";

    static {
        System.setProperty("org.apache.avro.limits.string.maxLength", MAX_LENGTH);
        System.setProperty("org.apache.avro.limits.bytes.maxLength", MAX_LENGTH);
        System.setProperty("org.apache.avro.limits.collectionItems.maxLength", MAX_ITEMS);
    }

    private final BinaryMessageEncoder<T> encoder;
    private final BinaryMessageDecoder<T> decoder;

    /** @param earlier how many earlier versions of the schema are read too, those in {@code schemas/earlier} */
    AvroBytes(T prototype, int earlier) {
        encoder = new BinaryMessageEncoder<>(SpecificData.get(), prototype.getSchema());
        decoder = new BinaryMessageDecoder<>(SpecificData.get(), prototype.getSchema());
        for (int version = 1; version <= earlier; version++) {
            decoder.addSchema(schema("/schemas/earlier/" + prototype.getSchema().getName() + "." + version + ".avsc"));
        }
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
        try {
            return decoder.decode(bytes);
        } catch (MissingSchemaException e) {
            throw new UnreadableException(Rejection.UNKNOWN_SCHEMA, e);
        } catch (BadHeaderException e) {
            throw new UnreadableException(Rejection.NOT_AVRO, e);
        } catch (IOException | AvroRuntimeException | UnsupportedOperationException | IndexOutOfBoundsException e) {
            throw new UnreadableException(Rejection.NOT_AVRO, e);
        }
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
