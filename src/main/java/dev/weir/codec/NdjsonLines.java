package dev.weir.codec;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;

/** The lines of an NDJSON file, one at a time, blank ones passed over; knows where it is. */
public final class NdjsonLines implements Closeable {

    /** Longer than any request; a file without line ends is not to be read into memory whole. */
    static final int MAX_LINE_LENGTH = 4 << 20;

    private final String name;
    private final BufferedReader reader;
    private final StringBuilder line = new StringBuilder();
    private long number;

    /** @param name how the place is told in errors */
    public NdjsonLines(String name, InputStream in) {
        this.name = name;
        this.reader = new BufferedReader(
                new InputStreamReader(
                        in,
                        StandardCharsets.UTF_8
                                .newDecoder()
                                .onMalformedInput(CodingErrorAction.REPORT)
                                .onUnmappableCharacter(CodingErrorAction.REPORT)),
                1 << 16);
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
     * @throws IOException if the file cannot be read on; the message names the place
     */
    public String next() throws IOException {
        while (true) {
            number++;
            String text = readLine();
            if (text == null || !text.isBlank()) {
                return text;
            }
        }
    }

    /** The place of the line that was read last: {@code requests.ndjson:17}. */
    public String place() {
        return name + ":" + number;
    }

    @Override
    public void close() throws IOException {
        reader.close();
    }

    private String readLine() throws IOException {
        line.setLength(0);
        try {
            int c;
            while ((c = reader.read()) != '\n') {
                if (c < 0) {
                    return line.isEmpty() ? null : line.toString();
                }
                if (line.length() == MAX_LINE_LENGTH) {
                    throw new IOException("the line is longer than " + MAX_LINE_LENGTH + " characters");
                }
                line.append((char) c);
            }
        } catch (IOException e) {
            throw new IOException(place() + ": " + reason(e), e);
        }
        return line.toString();
    }

    private static String reason(IOException e) {
        return e instanceof java.nio.charset.CharacterCodingException ? "is not UTF-8" : e.getMessage();
    }
}
