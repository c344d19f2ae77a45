package dev.weir.deadletter;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.wire.json.Json;

/** Dead letters and the result of a replay as JSON, as described by {@code openapi.yaml}. */
public final class DeadLetterJson {

    private DeadLetterJson() {}

    /** Returns a list of dead letters. */
    public static ObjectNode of(DeadLetterList list) {
        ObjectNode json = object();
        json.put("read", list.read());
        json.put("complete", list.isComplete());
        ArrayNode letters = json.putArray("deadLetters");
        list.newestFirst().forEach(letter -> letters.add(of(letter)));
        return json;
    }

    private static ObjectNode of(DeadLetter letter) {
        ObjectNode json = object();
        json.put("position", letter.position().toString());
        json.put("timestamp", letter.timestampMs());
        json.put("reason", letter.reason());
        json.put("detail", letter.detail());
        DeadLetter.Source source = letter.source();
        json.put("sourceTopic", source == null ? null : source.topic());
        json.put("sourcePosition", source == null ? null : source.partition() + ":" + source.offset());
        json.set("key", of(letter.key()));
        json.set("value", of(letter.value()));
        return json;
    }

    private static ObjectNode of(RecordPreview preview) {
        return preview == null
                ? null
                : object().put("size", preview.size())
                        .put("text", preview.text())
                        .put("hex", preview.hex());
    }

    /** Returns what a replay did. */
    public static ObjectNode of(DeadLetterReplay.Result result) {
        ObjectNode json = object();
        json.put("replayed", result.replayed());
        json.put("skipped", result.skipped());
        json.put("replayedBefore", result.replayedBefore());
        ArrayNode skipped = json.putArray("firstSkipped");
        result.firstSkipped().forEach(one -> skipped.addObject()
                .put("position", one.position().toString())
                .put("why", one.why()));
        return json;
    }

    private static ObjectNode object() {
        return Json.MAPPER.createObjectNode();
    }
}
