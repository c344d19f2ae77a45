package dev.weir.wire;

import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.ReleaseJson;

/** The format of the decisions and releases on their topics. Every reader accepts both. */
public enum OutputFormat {
    /** Avro in single-object encoding or, with a schema registry, in Confluent's wire format. */
    AVRO,
    /** A JSON object in UTF-8, as {@link DecisionJson} and {@link ReleaseJson} write it, without a line feed. */
    JSON
}
