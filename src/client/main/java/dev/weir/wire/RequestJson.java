package dev.weir.wire;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.Fault;
import dev.weir.fault.SafeText;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * The reader of requests in NDJSON: one JSON object per line, with the fields of the Avro event, {@code timestamp} and,
 * for a request that was read from a topic, {@code partition} and {@code offset}. The payload is base64.
 */
public final class RequestJson {

    private static final JsonFactory FACTORY = new JsonFactory();

    private RequestJson() {}

    /**
     * Parses one line.
     *
     * @param line a JSON object
     * @param timestampMs the timestamp of a request that has none, in ms since the epoch
     * @param source the source of a request that has none
     * @return the request, which is not checked any further
     * @throws IllegalArgumentException if the line is not a request; the message names the field
     */
    public static Request read(String line, long timestampMs, Request.Source source) {
        Draft draft = new Draft(timestampMs, source);
        try (JsonParser json = FACTORY.createParser(line)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw new IllegalArgumentException("is not a JSON object");
            }
            while (json.nextToken() != JsonToken.END_OBJECT) {
                String field = json.currentName();
                json.nextToken();
                draft.set(field, json);
            }
            if (json.nextToken() != null) {
                throw new IllegalArgumentException("has content after the JSON object");
            }
            return draft.toRequest();
        } catch (JsonProcessingException e) {
            throw refused("is not valid JSON: " + e.getOriginalMessage(), e);
        } catch (IOException e) {
            throw refused("is not valid JSON: " + e.getMessage(), e);
        } catch (IllegalArgumentException e) {
            throw refused(e.getMessage(), e);
        }
    }

    private static IllegalArgumentException refused(String message, Exception cause) {
        return new IllegalArgumentException(SafeText.of(message, Fault.MAX_MESSAGE), cause);
    }

    private static final class Draft {
        String requestId;
        String client;
        RequestKind kind = RequestKind.CONSUME;
        String tier;
        long cost = 1;
        Long sizeBytes;
        Map<String, String> attributes = Map.of();
        Long deadlineMs;
        byte[] payload;
        String queue;
        long timestampMs;
        int partition;
        long offset;

        Draft(long timestampMs, Request.Source source) {
            this.timestampMs = timestampMs;
            this.partition = source.partition();
            this.offset = source.offset();
        }

        void set(String field, JsonParser json) throws IOException {
            boolean isNull = json.currentToken() == JsonToken.VALUE_NULL;
            switch (field) {
                case "requestId" -> requestId = string(field, json);
                case "client" -> client = string(field, json);
                case "kind" -> kind = kind(string(field, json));
                case "tier" -> tier = isNull ? null : string(field, json);
                case "cost" -> cost = wholeNumber(field, json);
                case "sizeBytes" -> sizeBytes = isNull ? null : (Long) wholeNumber(field, json);
                case "attributes" -> attributes = attributes(json);
                case "deadline" -> deadlineMs = isNull ? null : (Long) wholeNumber(field, json);
                case "payload" -> payload = isNull ? null : base64(json);
                case "queue" -> queue = isNull ? null : string(field, json);
                case "timestamp" -> timestampMs = wholeNumber(field, json);
                case "partition" -> partition = partition(wholeNumber(field, json));
                case "offset" -> offset = wholeNumber(field, json);
                default -> throw new IllegalArgumentException("unknown field '" + field + "'");
            }
        }

        Request toRequest() {
            if (requestId == null || client == null) {
                throw new IllegalArgumentException((requestId == null ? "requestId" : "client") + " is missing");
            }
            return new Request(
                    requestId,
                    client,
                    kind,
                    tier,
                    cost,
                    sizeBytes,
                    attributes,
                    deadlineMs,
                    payload,
                    queue,
                    timestampMs,
                    new Request.Source(partition, offset));
        }

        private static String string(String field, JsonParser json) throws IOException {
            if (json.currentToken() != JsonToken.VALUE_STRING) {
                throw new IllegalArgumentException(field + " must be a string");
            }
            return wellFormed(field, json.getText());
        }

        private static String wellFormed(String field, String text) {
            if (!isWellFormed(text)) {
                throw new IllegalArgumentException(field + " contains an unpaired surrogate");
            }
            return text;
        }

        private static boolean isWellFormed(String text) {
            for (int i = 0; i < text.length(); i++) {
                if (Character.isSurrogate(text.charAt(i))) {
                    if (i + 1 == text.length() || !Character.isSurrogatePair(text.charAt(i), text.charAt(i + 1))) {
                        return false;
                    }
                    i++;
                }
            }
            return true;
        }

        private static long wholeNumber(String field, JsonParser json) throws IOException {
            if (json.currentToken() != JsonToken.VALUE_NUMBER_INT
                    || json.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
                throw new IllegalArgumentException(field + " must be a whole number");
            }
            return json.getLongValue();
        }

        private static int partition(long number) {
            if ((int) number != number) {
                throw new IllegalArgumentException("partition must be a 32-bit integer, is " + number);
            }
            return (int) number;
        }

        private static RequestKind kind(String name) {
            for (RequestKind kind : RequestKind.values()) {
                if (kind.name().equals(name)) {
                    return kind;
                }
            }
            throw new IllegalArgumentException("kind must be CONSUME, PEEK, SETTLE or CANCEL, is '" + name + "'");
        }

        private static Map<String, String> attributes(JsonParser json) throws IOException {
            if (json.currentToken() != JsonToken.START_OBJECT) {
                throw new IllegalArgumentException("attributes must be an object");
            }
            Map<String, String> attributes = new HashMap<>();
            while (json.nextToken() != JsonToken.END_OBJECT) {
                String name = wellFormed("the name of an attribute", json.currentName());
                json.nextToken();
                attributes.put(name, string("attributes." + name, json));
            }
            return attributes;
        }

        private static byte[] base64(JsonParser json) throws IOException {
            if (json.currentToken() != JsonToken.VALUE_STRING) {
                throw new IllegalArgumentException("payload must be a base64 string");
            }
            try {
                return json.getBinaryValue();
            } catch (JsonParseException e) {
                throw new IllegalArgumentException("payload must be a base64 string", e);
            }
        }
    }
}
