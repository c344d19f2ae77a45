package dev.weir.wire;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.Closeable;
import java.io.Flushable;
import java.io.IOException;
import java.io.Writer;
import java.util.Map;
import java.util.TreeMap;

/** Writes values as NDJSON, one JSON object a line. */
public abstract class NdjsonWriter<T> implements Closeable, Flushable {

    private static final JsonFactory FACTORY = PrintableJson.factory();

    private final JsonGenerator json;

    /** @param out closed with this */
    NdjsonWriter(Writer out) throws IOException {
        json = FACTORY.createGenerator(out);
        json.setRootValueSeparator(null);
    }

    public final void write(T value) throws IOException {
        json.writeStartObject();
        writeFields(value, json);
        json.writeEndObject();
        json.writeRaw('\n');
    }

    abstract void writeFields(T value, JsonGenerator out) throws IOException;

    /** An object of texts, by name. */
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
