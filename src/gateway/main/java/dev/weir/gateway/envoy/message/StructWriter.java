package dev.weir.gateway.envoy.message;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.ListValue;
import com.google.protobuf.Struct;
import com.google.protobuf.UnsafeByteOperations;
import com.google.protobuf.Value;
import com.google.protobuf.WireFormat;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Writes the bytes of a {@link Struct}, or of a {@link ListValue} of them. Write each key once, and use one instance for
 * one message.
 */
final class StructWriter {

    private static final int KEY = 1; // of an entry of a map field
    private static final int VALUE = 2;

    private static final int TAG_TYPE_BITS = 3;
    private static final int TAG_SIZE = 1; // all numbers of fields here are below 16
    private static final int VARINT_BITS = 7;
    private static final int VARINT_MASK = (1 << VARINT_BITS) - 1;

    /** Room for the fields of one descriptor. */
    private static final int FIRST_CAPACITY = 256;

    private byte[] bytes = new byte[FIRST_CAPACITY];
    private int size;

    /** The name of a field, encoded as the key of an entry. */
    static final class Key {

        private final byte[] encoded;

        Key(String name) {
            byte[] utf8 = utf8(name);
            encoded = new StructWriter().delimited(KEY, utf8, utf8.length).copy();
        }
    }

    /** Returns a text as {@link #text(Key, byte[])} writes it. */
    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    StructWriter text(Key key, String value) {
        return text(key, utf8(value));
    }

    StructWriter text(Key key, byte[] utf8) {
        return entry(key, delimitedSize(utf8.length)).delimited(Value.STRING_VALUE_FIELD_NUMBER, utf8, utf8.length);
    }

    StructWriter number(Key key, long value) {
        entry(key, TAG_SIZE + Double.BYTES).tag(Value.NUMBER_VALUE_FIELD_NUMBER, WireFormat.WIRETYPE_FIXED64);
        reserve(Double.BYTES);
        long bits = Double.doubleToRawLongBits(value);
        for (int i = 0; i < Double.BYTES; i++) {
            bytes[size++] = (byte) (bits >>> Byte.SIZE * i);
        }
        return this;
    }

    StructWriter isTrue(Key key) {
        return entry(key, TAG_SIZE + 1)
                .tag(Value.BOOL_VALUE_FIELD_NUMBER, WireFormat.WIRETYPE_VARINT)
                .varint(1);
    }

    /** Writes a list, given the writer of a {@link ListValue}. */
    StructWriter list(Key key, StructWriter list) {
        return entry(key, delimitedSize(list.size)).delimited(Value.LIST_VALUE_FIELD_NUMBER, list.bytes, list.size);
    }

    /** Writes all fields of another {@link Struct}. */
    StructWriter fields(StructWriter struct) {
        return raw(struct.bytes, struct.size);
    }

    /** Writes the next element of a list: a {@link Struct}. */
    StructWriter element(StructWriter struct) {
        return tag(ListValue.VALUES_FIELD_NUMBER, WireFormat.WIRETYPE_LENGTH_DELIMITED)
                .varint(delimitedSize(struct.size))
                .delimited(Value.STRUCT_VALUE_FIELD_NUMBER, struct.bytes, struct.size);
    }

    /** Begins an entry of the map with all fields, up to the contents of its {@link Value}. */
    private StructWriter entry(Key key, int valueSize) {
        return tag(Struct.FIELDS_FIELD_NUMBER, WireFormat.WIRETYPE_LENGTH_DELIMITED)
                .varint(key.encoded.length + delimitedSize(valueSize))
                .raw(key.encoded, key.encoded.length)
                .tag(VALUE, WireFormat.WIRETYPE_LENGTH_DELIMITED)
                .varint(valueSize);
    }

    private StructWriter delimited(int number, byte[] contents, int length) {
        return tag(number, WireFormat.WIRETYPE_LENGTH_DELIMITED).varint(length).raw(contents, length);
    }

    private static int delimitedSize(int length) {
        return TAG_SIZE + CodedOutputStream.computeUInt32SizeNoTag(length) + length;
    }

    private StructWriter tag(int number, int type) {
        return varint(number << TAG_TYPE_BITS | type);
    }

    private StructWriter varint(int value) {
        int rest = value;
        while (rest > VARINT_MASK) {
            one(rest & VARINT_MASK | 1 << VARINT_BITS);
            rest >>>= VARINT_BITS;
        }
        return one(rest);
    }

    private StructWriter one(int value) {
        reserve(1);
        bytes[size++] = (byte) value;
        return this;
    }

    private StructWriter raw(byte[] contents, int length) {
        reserve(length);
        System.arraycopy(contents, 0, bytes, size, length);
        size += length;
        return this;
    }

    private void reserve(int more) {
        if (bytes.length - size < more) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, size + more));
        }
    }

    private byte[] copy() {
        return Arrays.copyOf(bytes, size);
    }

    /** Returns what was written. Nothing may be written afterwards. */
    ByteString bytes() {
        return UnsafeByteOperations.unsafeWrap(bytes, 0, size);
    }
}
