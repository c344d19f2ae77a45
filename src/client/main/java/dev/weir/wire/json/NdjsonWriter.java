package dev.weir.wire.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.Closeable;
import java.io.Flushable;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

/**
 * A writer of values as NDJSON, one JSON object per line. Not thread-safe.
 *
 * @param <T> the type of the values
 */
public abstract class NdjsonWriter<T> implements Closeable, Flushable {

    private static final JsonFactory FACTORY = PrintableJson.factory();

    private final JsonGenerator json;

    /**
     * Creates a writer.
     *
     * @param out where to write, closed with this writer
     */
    NdjsonWriter(Writer out) throws IOException {
        json = FACTORY.createGenerator(out);
        json.setRootValueSeparator(null);
    }

    /**
     * Writes a value and a line feed. The output can be buffered until {@link #flush}.
     *
     * @param value the value
     * @throws IOException if the output cannot be written
     */
    public final void write(T value) throws IOException {
        json.writeStartObject();
        writeFields(value, json);
        json.writeEndObject();
        json.writeRaw('\n');
    }

    /**
     * Returns the value of a record: a JSON object without a line feed.
     *
     * @param writer creates a writer for an output
     */
    static <T> byte[] encode(T value, Factory<T> writer) {
        StringWriter out = new StringWriter();
        try (NdjsonWriter<T> json = writer.create(out)) {
            json.write(value);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // cannot happen: it writes to memory
        }
        return out.toString().stripTrailing().getBytes(StandardCharsets.UTF_8);
    }

    /** Creates a writer. */
    interface Factory<T> {
        NdjsonWriter<T> create(Writer out) throws IOException;
    }

    abstract void writeFields(T value, JsonGenerator out) throws IOException;

    /** Writes a field with an object of texts, ordered by name. */
    static void texts(JsonGenerator out, String field, Map<String, String> texts) throws IOException {
        out.writeObjectFieldStart(field);
        for (Map.Entry<String, String> text : new TreeMap<>(texts).entrySet()) {
            out.writeStringField(text.getKey(), text.getValue());
        }
        out.writeEndObject();
    }

    @Override
    public final void flush() throws IOException {
        json.flush();
    }

    @Override
    public final void close() throws IOException {
        json.close();
    }
}
