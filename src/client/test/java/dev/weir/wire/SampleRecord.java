package dev.weir.wire;

import dev.weir.event.Request;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.message.BinaryMessageEncoder;

/** Creates valid records of any version of any schema. */
final class SampleRecord {

    /** The values of fields that do not accept any text or bytes. */
    private static final Map<String, Object> GIVEN = Map.of(
            "reason",
            "LIMIT_EXCEEDED",
            "request",
            ByteBuffer.wrap(new RequestCodec()
                    .encode(Request.builder("r", "c").source(0, 0).build())));

    private SampleRecord() {}

    /**
     * Returns a record.
     *
     * @param full whether optional fields have values
     */
    static GenericRecord of(Schema schema, boolean full) {
        GenericRecord event = new GenericData.Record(schema);
        for (Schema.Field field : schema.getFields()) {
            event.put(field.name(), GIVEN.getOrDefault(field.name(), value(field.schema(), field, full)));
        }
        return event;
    }

    private static Object value(Schema schema, Schema.Field field, boolean full) {
        return switch (schema.getType()) {
            case UNION -> full ? value(schema.getTypes().get(1), field, true) : null;
            case STRING -> field.name();
            case BYTES -> ByteBuffer.wrap(field.name().getBytes(StandardCharsets.UTF_8));
            case LONG -> 1_000L + field.pos();
            case INT -> 100 + field.pos();
            case BOOLEAN -> full;
            case ENUM ->
                new GenericData.EnumSymbol(
                        schema,
                        schema.getEnumSymbols()
                                .get(full ? schema.getEnumSymbols().size() - 1 : 0));
            case MAP -> full ? Map.of("endpoint", "/żółw") : Map.of();
            case RECORD -> of(schema, full);
            case ARRAY -> full ? List.of(value(schema.getElementType(), field, true)) : List.of();
            default -> throw new IllegalArgumentException(field + " is of a new type: " + schema);
        };
    }

    /** Encodes a record in single-object encoding, with Avro's own encoder. */
    static byte[] bytes(GenericRecord event) {
        try {
            return AvroBytes.toArray(
                    new BinaryMessageEncoder<GenericRecord>(GenericData.get(), event.getSchema()).encode(event));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
