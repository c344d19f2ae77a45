package dev.weir.wire;

import dev.weir.fault.UnreadableLineException;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;

/** The lines of an NDJSON file, one at a time, blank ones passed over; knows where it is. */
public final class NdjsonLines implements Closeable {

    /** In bytes; longer than any request. A file without line ends is not to be read into memory whole. */
    static final int MAX_LINE_LENGTH = 4 << 20;

    private final String name;
    private final InputStream in;
    private byte[] buffer = new byte[1 << 16];
    private int start; // of the line that is read next
    private int end; // of what is in the buffer
    private long number;

    /** @param name how the place is told in errors */
    public NdjsonLines(String name, InputStream in) {
        this.name = name;
        this.in = in;
    }

    /** Opens a file, decompressing it if its name ends in {@code .gz}; {@code -} is standard input. */
    public static NdjsonLines open(String file) throws IOException {
        if (file.equals("-")) {
            return new NdjsonLines("standard input", System.in);
        }
        InputStream in = Files.newInputStream(Path.of(file));
        return new NdjsonLines(file, file.endsWith(".gz") ? new GZIPInputStream(in, 1 << 16) : in);
    }

    /**
     * The next line, null at the end.
     *
     * @throws UnreadableLineException if it is no UTF-8 or too long, or the file cannot be read on
     */
    public String next() throws UnreadableLineException {
        while (true) {
            number++;
            String line = readLine();
            if (number == 1 && line != null && line.startsWith("\uFEFF")) {
                line = line.substring(1); // a byte order mark
            }
            if (line == null || !line.isBlank()) {
                return line;
            }
        }
    }

    /** The place of the line that was read last: {@code requests.ndjson:17}. */
    public String place() {
        return name + ":" + number;
    }

    @Override
    public void close() throws IOException {
        in.close();
    }

    private String readLine() throws UnreadableLineException {
        int position = start;
        while (true) {
            while (position < end && buffer[position] != '\n') {
                position++;
            }
            if (position < end) {
                String line = text(position);
                start = position + 1;
                return line;
            }
            if (position - start > MAX_LINE_LENGTH) {
                throw new UnreadableLineException(
                        place() + ": the line is longer than " + MAX_LINE_LENGTH + " bytes", null);
            }
            position -= start; // what there is of the line moves to the front
            if (!fill()) {
                String line = position == 0 ? null : text(position);
                start = position;
                return line;
            }
        }
    }

    /** Moves the rest to the buffer's front and reads more behind it; false at the end of the file. */
    private boolean fill() throws UnreadableLineException {
        int rest = end - start;
        byte[] next = rest == buffer.length ? new byte[2 * rest] : buffer;
        System.arraycopy(buffer, start, next, 0, rest);
        buffer = next;
        start = 0;
        end = rest;
        try {
            int read = in.read(buffer, end, buffer.length - end);
            end += Math.max(0, read);
            return read >= 0;
        } catch (IOException e) {
            throw new UnreadableLineException(place() + ": " + e.getMessage(), e);
        }
    }

    private String text(int position) throws UnreadableLineException {
        String line = new String(buffer, start, position - start, StandardCharsets.UTF_8);
        if (line.indexOf('\uFFFD') >= 0) { // written so, or put in place of what is no UTF-8
            try {
                StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(buffer, start, position - start));
            } catch (CharacterCodingException e) {
                throw new UnreadableLineException(place() + ": is not UTF-8", e);
            }
        }
        return line;
    }
}
