package dev.weir.wire.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import dev.weir.event.Acknowledgement;
import dev.weir.event.LimitOverride;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.Fault;
import dev.weir.fault.SafeText;
import dev.weir.policy.DurationsAndSizes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The reader of requests in NDJSON: one JSON object per line, with the fields of the Avro event, {@code timestamp} and,
 * for a request that was read from a topic, {@code partition} and {@code offset}. The payload is base64. In place of
 * {@code reserveMs}, {@code reserve} is a duration such as {@code 60s} or a number of milliseconds. The fields of the
 * acknowledgement are those of the request; the result is {@code done}, {@code retry} or {@code failed}.
 */
public final class RequestJson {

    private static final JsonFactory FACTORY = PrintableJson.factory();
    private static final Supplier<String> NO_ID = () -> null;
    private static final List<String> OVERRIDE_FIELDS = List.of("limit", "windowMs");
    private static final Set<String> RECORD_FIELDS = Set.of("timestamp", "partition", "offset");

    private RequestJson() {}

    /**
     * Parses one line of a file.
     *
     * @param line a JSON object
     * @param timestampMs the timestamp of a request that has none, in ms since the epoch
     * @param source the source of a request that has none
     * @return the request, which is not checked any further
     * @throws IllegalArgumentException if the line is not a request; the message names the field
     */
    public static Request read(String line, long timestampMs, Request.Source source) {
        return read(line, new Draft(NO_ID, timestampMs, source, false, Optional.empty()));
    }

    /**
     * Parses one request like {@link #read(String, long, Request.Source)}. It gets an id if it has none.
     *
     * @param text a JSON object
     * @param requestIds returns an id for a request without one, except for RELEASE, RENEW and CANCEL, which need one
     * @param timestampMs the timestamp of a request that has none, in ms since the epoch
     * @return the request, which is not checked any further
     * @throws IllegalArgumentException if the text is not a request; the message names the field
     */
    public static Request read(String text, Supplier<String> requestIds, long timestampMs) {
        return read(text, new Draft(requestIds, timestampMs, Request.Source.NONE, false, Optional.empty()));
    }

    /**
     * Parses the value of a record. It must not have the fields {@code timestamp}, {@code partition} and
     * {@code offset}: they are those of the record.
     *
     * @param value a JSON object
     * @param timestampMs the timestamp of the record, in ms since the epoch
     * @param source the position of the record
     * @return the request, which is not checked any further
     * @throws IllegalArgumentException if the value is not a request; the message names the field
     */
    public static Request readRecord(String value, long timestampMs, Request.Source source) {
        return read(value, new Draft(NO_ID, timestampMs, source, true, Optional.empty()));
    }

    /**
     * Parses a request that is to be written to a record, like {@link #readRecord}. It gets an id if it has none.
     *
     * @param text a JSON object
     * @param requestIds returns an id for a request without one, except for RELEASE, RENEW and CANCEL, which need one
     * @param nowMs the timestamp of the record, in ms since the epoch
     * @return the request, which is not checked any further
     * @throws IllegalArgumentException if the text is not a request; the message names the field
     */
    public static Request readNew(String text, Supplier<String> requestIds, long nowMs) {
        return readNew(text, Optional.empty(), requestIds, nowMs);
    }

    /**
     * Parses a request of a kind like {@link #readNew(String, Supplier, long)}.
     *
     * @param text a JSON object
     * @param kind the kind, which the text must not have; empty if the text has it
     * @param requestIds returns an id for a request without one, except for RELEASE, RENEW and CANCEL, which need one
     * @param nowMs the timestamp of the record, in ms since the epoch
     * @return the request, which is not checked any further
     * @throws IllegalArgumentException if the text is not a request; the message names the field
     */
    public static Request readNew(String text, Optional<RequestKind> kind, Supplier<String> requestIds, long nowMs) {
        return read(text, new Draft(requestIds, nowMs, Request.Source.NONE, true, kind));
    }

    private static Request read(String line, Draft draft) {
        try (JsonParser json = FACTORY.createParser(line)) {
            json.nextToken();
            Request request = readObject(json, draft);
            if (json.nextToken() != null) {
                throw new IllegalArgumentException("has content after the JSON object");
            }
            return request;
        } catch (JsonProcessingException e) {
            throw refused("is not valid JSON: " + Json.message(e), e);
        } catch (IOException e) {
            throw refused("is not valid JSON: " + e.getMessage(), e);
        } catch (MissingFieldException e) {
            throw e;
        } catch (IllegalArgumentException e) {
            throw refused(e.getMessage(), e);
        }
    }

    /**
     * Parses a JSON array of requests like {@link #readNew(String, Optional, Supplier, long)}.
     *
     * @param text a JSON array of objects
     * @param maximum the maximum number of requests
     * @param kind the kind of all requests, which the text must not have; empty if the text has it
     * @param requestIds returns an id for each request that has none, except for RELEASE, RENEW and CANCEL, which need one
     * @param nowMs the timestamp of the records, in ms since the epoch
     * @return the requests, which are not checked any further
     * @throws IllegalArgumentException if the text is not an array of requests, or has more than the maximum; the
     *     message names the index and the field
     */
    public static List<Request> readNewArray(
            String text, int maximum, Optional<RequestKind> kind, Supplier<String> requestIds, long nowMs) {
        List<Request> requests = new ArrayList<>();
        try (JsonParser json = FACTORY.createParser(text)) {
            if (json.nextToken() != JsonToken.START_ARRAY) {
                throw new IllegalArgumentException("is not a JSON array");
            }
            while (json.nextToken() != JsonToken.END_ARRAY) {
                if (requests.size() == maximum) {
                    throw new IllegalArgumentException("has more than " + maximum + " requests");
                }
                Draft draft = new Draft(requestIds, nowMs, Request.Source.NONE, true, kind);
                requests.add(readElement(json, requests.size(), draft));
            }
            if (json.nextToken() != null) {
                throw new IllegalArgumentException("has content after the JSON array");
            }
            return requests;
        } catch (JsonProcessingException e) {
            throw refused("[" + requests.size() + "]: is not valid JSON: " + Json.message(e), e);
        } catch (IOException e) {
            throw refused("[" + requests.size() + "]: is not valid JSON: " + e.getMessage(), e);
        }
    }

    private static Request readElement(JsonParser json, int index, Draft draft) throws IOException {
        try {
            return readObject(json, draft);
        } catch (IllegalArgumentException e) {
            throw refused("[" + index + "]: " + e.getMessage(), e);
        }
    }

    /** Reads the object at which the parser is. */
    private static Request readObject(JsonParser json, Draft draft) throws IOException {
        if (json.currentToken() != JsonToken.START_OBJECT) {
            throw new IllegalArgumentException("is not a JSON object");
        }
        while (json.nextToken() != JsonToken.END_OBJECT) {
            String field = json.currentName();
            json.nextToken();
            draft.set(field, json);
        }
        return draft.toRequest();
    }

    private static IllegalArgumentException refused(String message, Exception cause) {
        return new IllegalArgumentException(SafeText.of(message, Fault.MAX_MESSAGE), cause);
    }

    private static final class Draft {
        private final Set<String> fields = new HashSet<>();
        private final Supplier<String> requestIds;
        private final boolean isRecord;
        private final Optional<RequestKind> fixedKind;
        String requestId;
        String client;
        RequestKind kind;
        String tier;
        long cost = 1;
        Long sizeBytes;
        Map<String, String> attributes = Map.of();
        Long deadlineMs;
        Long notBeforeMs;
        byte[] payload;
        String queue;
        LimitOverride limitOverride;
        String policyId;
        Long reserveMs;
        String settles;
        String receipt;
        Acknowledgement.Result result;
        Long retryAfterMs;
        String error;
        long timestampMs;
        int partition;
        long offset;

        /**
         * @param isRecord whether the timestamp and the source are those of a record
         * @param fixedKind the kind that the text must not have; empty if it has the kind
         */
        Draft(
                Supplier<String> requestIds,
                long timestampMs,
                Request.Source source,
                boolean isRecord,
                Optional<RequestKind> fixedKind) {
            this.requestIds = requestIds;
            this.isRecord = isRecord;
            this.fixedKind = fixedKind;
            this.kind = fixedKind.orElse(RequestKind.CONSUME);
            this.timestampMs = timestampMs;
            this.partition = source.partition();
            this.offset = source.offset();
        }

        void set(String field, JsonParser json) throws IOException {
            if (isRecord && RECORD_FIELDS.contains(field)) {
                throw new IllegalArgumentException(field + " cannot be set: it is that of the record");
            }
            if (!fields.add(field)) {
                throw new IllegalArgumentException(field + " appears twice");
            }
            boolean isNull = json.currentToken() == JsonToken.VALUE_NULL;
            switch (field) {
                case "requestId" -> requestId = isNull ? null : string(field, json);
                case "client" -> client = isNull ? null : string(field, json);
                case "kind" -> {
                    requireNoFixedKind();
                    kind = kind(string(field, json));
                }
                case "tier" -> tier = isNull ? null : string(field, json);
                case "cost" -> cost = wholeNumber(field, json);
                case "sizeBytes" -> sizeBytes = isNull ? null : (Long) wholeNumber(field, json);
                case "attributes" -> attributes = attributes(json);
                case "deadline" -> deadlineMs = isNull ? null : (Long) wholeNumber(field, json);
                case "notBefore" -> notBeforeMs = isNull ? null : (Long) wholeNumber(field, json);
                case "payload" -> payload = isNull ? null : base64(json);
                case "queue" -> queue = isNull ? null : string(field, json);
                case "limitOverride" -> limitOverride = isNull ? null : limitOverride(json);
                case "policyId" -> policyId = isNull ? null : string(field, json);
                case "reserve" -> reserveMs = isNull ? null : (Long) durationMs(field, json);
                case "settles" -> settles = isNull ? null : string(field, json);
                case "receipt" -> receipt = isNull ? null : string(field, json);
                case "result" -> result = isNull ? null : result(string(field, json));
                case "retryAfterMs" -> retryAfterMs = isNull ? null : (Long) wholeNumber(field, json);
                case "error" -> error = isNull ? null : string(field, json);
                case "timestamp" -> timestampMs = wholeNumber(field, json);
                case "partition" -> partition = partition(wholeNumber(field, json));
                case "offset" -> offset = wholeNumber(field, json);
                case "reserveMs" ->
                    throw new IllegalArgumentException("unknown field 'reserveMs'; did you mean 'reserve'?");
                default -> throw new IllegalArgumentException("unknown field '" + field + "'");
            }
        }

        private void requireNoFixedKind() {
            fixedKind.ifPresent(given -> {
                throw new IllegalArgumentException("kind cannot be set: it is " + given);
            });
        }

        Request toRequest() {
            if (requestId == null && !isOfAnotherRequest()) {
                requestId = requestIds.get();
            }
            if (requestId == null || client == null) {
                throw new MissingFieldException(requestId == null ? "requestId" : "client");
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
                    notBeforeMs,
                    payload,
                    queue,
                    limitOverride,
                    policyId,
                    reserveMs,
                    settles,
                    acknowledgement(),
                    timestampMs,
                    new Request.Source(partition, offset));
        }

        /** Returns whether the id is that of another request, which this one ends or prolongs. */
        private boolean isOfAnotherRequest() {
            return kind == RequestKind.RELEASE || kind == RequestKind.RENEW || kind == RequestKind.CANCEL;
        }

        private Acknowledgement acknowledgement() {
            if (receipt == null && (result != null || retryAfterMs != null || error != null)) {
                throw new IllegalArgumentException("receipt is required with result, retryAfterMs and error");
            }
            return receipt == null ? null : new Acknowledgement(receipt, result, retryAfterMs, error);
        }

        private static Acknowledgement.Result result(String name) {
            return switch (name) {
                case "done" -> Acknowledgement.Result.DONE;
                case "retry" -> Acknowledgement.Result.RETRY;
                case "failed" -> Acknowledgement.Result.FAILED;
                default ->
                    throw new IllegalArgumentException("result must be done, retry or failed, is '" + name + "'");
            };
        }

        private static String string(String field, JsonParser json) throws IOException {
            if (json.currentToken() != JsonToken.VALUE_STRING) {
                throw new IllegalArgumentException(field + " must be a string");
            }
            return wellFormed(field, json.getText());
        }

        private static String wellFormed(String field, String text) {
            if (!Json.isWellFormed(text)) {
                throw new IllegalArgumentException(field + " contains an unpaired surrogate");
            }
            return text;
        }

        private static long wholeNumber(String field, JsonParser json) throws IOException {
            if (json.currentToken() != JsonToken.VALUE_NUMBER_INT) {
                throw new IllegalArgumentException(field + " must be a whole number, " + shown(json));
            }
            if (json.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
                throw new IllegalArgumentException(field + " must be a 64-bit integer, " + shown(json));
            }
            return json.getLongValue();
        }

        private static long durationMs(String field, JsonParser json) throws IOException {
            return switch (json.currentToken()) {
                case VALUE_NUMBER_INT -> wholeNumber(field, json);
                case VALUE_STRING -> durationMs(field, json.getText());
                default ->
                    throw new IllegalArgumentException(
                            field + " must be a duration such as \"60s\" or a number of ms, " + shown(json));
            };
        }

        private static long durationMs(String field, String text) {
            try {
                return DurationsAndSizes.durationMs(text);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(field + " " + e.getMessage(), e);
            }
        }

        private static String shown(JsonParser json) throws IOException {
            return switch (json.currentToken()) {
                case START_OBJECT -> "is an object";
                case START_ARRAY -> "is an array";
                case VALUE_NULL -> "has no value";
                default -> "is '" + json.getText() + "'";
            };
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
            throw new IllegalArgumentException(
                    "kind must be CONSUME, PEEK, SETTLE, CANCEL, RESET, RELEASE, RENEW, COMPLETE or EXTEND, is '" + name
                            + "'");
        }

        private static Map<String, String> attributes(JsonParser json) throws IOException {
            if (json.currentToken() != JsonToken.START_OBJECT) {
                throw new IllegalArgumentException("attributes must be an object");
            }
            Map<String, String> attributes = new HashMap<>();
            while (json.nextToken() != JsonToken.END_OBJECT) {
                String name = wellFormed("the name of an attribute", json.currentName());
                json.nextToken();
                if (attributes.put(name, string("attributes." + name, json)) != null) {
                    throw new IllegalArgumentException("attributes." + name + " appears twice");
                }
            }
            return attributes;
        }

        private static LimitOverride limitOverride(JsonParser json) throws IOException {
            if (json.currentToken() != JsonToken.START_OBJECT) {
                throw new IllegalArgumentException("limitOverride must be an object with limit and windowMs");
            }
            Map<String, Long> numbers = new HashMap<>();
            while (json.nextToken() != JsonToken.END_OBJECT) {
                String name = json.currentName();
                if (!OVERRIDE_FIELDS.contains(name)) {
                    throw new IllegalArgumentException("unknown field 'limitOverride." + name + "'");
                }
                json.nextToken();
                if (numbers.put(name, wholeNumber("limitOverride." + name, json)) != null) {
                    throw new IllegalArgumentException("limitOverride." + name + " appears twice");
                }
            }
            for (String name : OVERRIDE_FIELDS) {
                if (!numbers.containsKey(name)) {
                    throw new IllegalArgumentException("limitOverride." + name + " is required");
                }
            }
            return new LimitOverride(numbers.get("limit"), numbers.get("windowMs"));
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
