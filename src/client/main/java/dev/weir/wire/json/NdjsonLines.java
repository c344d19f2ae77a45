package dev.weir.wire.json;

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

/**
 * A reader of the lines of an NDJSON file. It skips blank lines and knows the number of the current one.
 * Not thread-safe.
 */
public final class NdjsonLines implements Closeable {

    /**
     * The maximum length of a line in bytes, which is longer than any request. It bounds the memory for a file without
     * line breaks.
     */
    static final int MAX_LINE_LENGTH = 4 << 20;

    private final String name;
    private final InputStream in;
    private byte[] buffer = new byte[1 << 16];
    private int start; // of the next line
    private int end; // of the buffered bytes
    private long number;

    /**
     * Creates a reader.
     *
     * @param name the name of the file in {@link #place} and in exceptions
     * @param in the bytes, closed with this reader
     */
    public NdjsonLines(String name, InputStream in) {
        this.name = name;
        this.in = in;
    }

    /**
     * Opens a file, and decompresses it if its name ends in {@code .gz}.
     *
     * @param file the path of the file, or {@code -} for standard input
     * @return a reader, to be closed by the caller
     * @throws IOException if the file cannot be opened
     */
    public static NdjsonLines open(String file) throws IOException {
        if (file.equals("-")) {
            return new NdjsonLines("standard input", System.in);
        }
        InputStream in = Files.newInputStream(Path.of(file));
        return new NdjsonLines(file, file.endsWith(".gz") ? new GZIPInputStream(in, 1 << 16) : in);
    }

    /**
     * Returns the next line that is not blank, without its line feed.
     *
     * @return the line; null at the end of the file
     * @throws UnreadableLineException if the line is not valid UTF-8 (the next call returns the line after it) or is too
     *     long, or the file cannot be read
     */
    public String next() throws UnreadableLineException {
        while (true) {
            number++;
            String line = readLine();
            if (number == 1 && line != null && line.startsWith("\uFEFF")) {
                line = line.substring(1); // removes the byte order mark
            }
            if (line == null || !line.isBlank()) {
                return line;
            }
        }
    }

    /**
     * Returns the place of the line that was read last, such as {@code requests.ndjson:17}.
     *
     * @return the name of the file and the number of the line, from 1
     */
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
                int from = start;
                start = position + 1;
                return text(from, position);
            }
            if (position - start > MAX_LINE_LENGTH) {
                throw new UnreadableLineException(
                        place() + ": the line is longer than " + MAX_LINE_LENGTH + " bytes", null);
            }
            position -= start; // fill() moves the start of the line to the front
            if (!fill()) {
                start = position;
                return position == 0 ? null : text(0, position);
            }
        }
    }

    /**
     * Moves the remaining bytes to the front of the buffer and reads more after them. Returns false at the end of
     * the file.
     */
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

    private String text(int from, int to) throws UnreadableLineException {
        String line = new String(buffer, from, to - from, StandardCharsets.UTF_8);
        if (line.indexOf('\uFFFD') >= 0) { // in the file, or a replacement for invalid UTF-8
            try {
                StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(buffer, from, to - from));
            } catch (CharacterCodingException e) {
                throw new UnreadableLineException(place() + ": is not valid UTF-8", e);
            }
        }
        return line;
    }
}
