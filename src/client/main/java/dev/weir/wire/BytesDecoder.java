package dev.weir.wire;

import java.io.EOFException;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.avro.io.Decoder;
import org.apache.avro.util.Utf8;

/**
 * A decoder of Avro's binary encoding that reads from a complete byte array. It rejects a length that exceeds the
 * remaining bytes before it allocates anything, which Avro's own decoder does not do. Not thread-safe.
 */
final class BytesDecoder extends Decoder {

    private static final int MAX_SHIFT = 63;
    private static final VarHandle FLOAT = MethodHandles.byteArrayViewVarHandle(float[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle DOUBLE =
            MethodHandles.byteArrayViewVarHandle(double[].class, ByteOrder.LITTLE_ENDIAN);

    private final byte[] bytes;
    private final int maxItems;
    private int at;
    private long items;

    /**
     * Creates a decoder with the default bound on items.
     *
     * @param start the length of the record's header
     */
    BytesDecoder(byte[] record, int start) {
        this(record, start, AvroBytes.MAX_ITEMS);
    }

    /**
     * Creates a decoder.
     *
     * @param maxItems the maximum number of items of all lists and maps of the record together
     */
    BytesDecoder(byte[] bytes, int start, int maxItems) {
        this.bytes = bytes;
        this.at = start;
        this.maxItems = maxItems;
    }

    /**
     * Checks that all bytes were read.
     *
     * @throws IOException if bytes remain
     */
    void end() throws IOException {
        if (at < bytes.length) {
            throw new IOException((bytes.length - at) + " unexpected bytes after the record");
        }
    }

    @Override
    public long readLong() throws IOException {
        if (at < bytes.length && bytes[at] >= 0) { // a number of one byte, the most frequent case
            long zigzag = bytes[at++];
            return (zigzag >>> 1) ^ -(zigzag & 1);
        }
        return readLongNumber();
    }

    private long readLongNumber() throws IOException {
        long zigzag = 0;
        for (int shift = 0; shift <= MAX_SHIFT; shift += 7) {
            byte next = bytes[take(1)];
            zigzag |= (next & 0x7FL) << shift;
            if (next >= 0) {
                return (zigzag >>> 1) ^ -(zigzag & 1);
            }
        }
        throw new IOException("a number has more than 64 bits");
    }

    @Override
    public int readInt() throws IOException {
        long number = readLong();
        if ((int) number != number) {
            throw new IOException("a number has more than 32 bits: " + number);
        }
        return (int) number;
    }

    @Override
    public void readNull() {}

    @Override
    public boolean readBoolean() throws IOException {
        return bytes[take(1)] == 1;
    }

    @Override
    public float readFloat() throws IOException {
        return (float) FLOAT.get(bytes, take(Float.BYTES));
    }

    @Override
    public double readDouble() throws IOException {
        return (double) DOUBLE.get(bytes, take(Double.BYTES));
    }

    @Override
    public Utf8 readString(Utf8 old) throws IOException {
        return new Utf8(readString());
    }

    @Override
    public String readString() throws IOException {
        int length = readLength();
        return new String(bytes, take(length), length, StandardCharsets.UTF_8);
    }

    /** Reads a string that occurs often, such as the name of an attribute. */
    String readWord(StringInterner words) throws IOException {
        int length = readLength();
        return words.text(bytes, take(length), length);
    }

    /** Reads the index of a union of null and another type. Returns whether a value follows. */
    boolean readPresent() throws IOException {
        return readBelow(2) == 1;
    }

    /** Reads the index of a symbol of an enumeration, or of a type of a union, that has {@code bound} of them. */
    int readBelow(int bound) throws IOException {
        int index = readInt();
        if (index < 0 || index >= bound) {
            throw new IOException("Index " + index + " out of bounds for length " + bound);
        }
        return index;
    }

    byte[] readBytes() throws IOException {
        int length = readLength();
        int start = take(length);
        return Arrays.copyOfRange(bytes, start, start + length);
    }

    @Override
    public void skipString() throws IOException {
        take(readLength());
    }

    @Override
    public ByteBuffer readBytes(ByteBuffer old) throws IOException {
        return ByteBuffer.wrap(readBytes());
    }

    @Override
    public void skipBytes() throws IOException {
        take(readLength());
    }

    @Override
    public void readFixed(byte[] to, int start, int length) throws IOException {
        System.arraycopy(bytes, take(length), to, start, length);
    }

    @Override
    public void skipFixed(int length) throws IOException {
        take(length);
    }

    @Override
    public int readEnum() throws IOException {
        return readInt();
    }

    @Override
    public int readIndex() throws IOException {
        return readInt();
    }

    @Override
    public long readArrayStart() throws IOException {
        return readBlock();
    }

    @Override
    public long arrayNext() throws IOException {
        return readBlock();
    }

    @Override
    public long skipArray() throws IOException {
        return readBlock();
    }

    @Override
    public long readMapStart() throws IOException {
        return readBlock();
    }

    @Override
    public long mapNext() throws IOException {
        return readBlock();
    }

    @Override
    public long skipMap() throws IOException {
        return readBlock();
    }

    /**
     * Reads the number of items that follow, 0 at the end. A negative count is followed by the length of the items in
     * bytes. No schema has items of zero bytes.
     */
    private long readBlock() throws IOException {
        long count = readLong();
        if (count < 0) {
            count = -count;
            readLength();
        }
        if (count < 0 || count > maxItems - items) {
            throw new IOException("the record has more than " + maxItems + " items");
        }
        if (count > bytes.length - at) {
            throw new EOFException("invalid count of " + count + " items: " + (bytes.length - at) + " bytes remain");
        }
        items += count;
        return count;
    }

    private int readLength() throws IOException {
        long length = readLong();
        if (length < 0 || length > bytes.length - at) {
            throw new EOFException("invalid length " + length + ": " + (bytes.length - at) + " bytes remain");
        }
        return (int) length;
    }

    /** Skips bytes. Returns the position of the first. */
    private int take(int length) throws IOException {
        if (length > bytes.length - at) {
            throw new EOFException("unexpected end of the record");
        }
        int start = at;
        at += length;
        return start;
    }
}
