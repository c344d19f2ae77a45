package dev.weir.codec;

import java.io.Closeable;
import java.io.Flushable;
import java.io.IOException;

/** Writes values as NDJSON, one JSON object a line. */
public interface NdjsonWriter<T> extends Closeable, Flushable {

    void write(T value) throws IOException;
}
