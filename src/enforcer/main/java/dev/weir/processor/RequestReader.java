package dev.weir.processor;

import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.policy.RequestRules;
import dev.weir.wire.RequestAvro;
import dev.weir.wire.RequestJson;
import dev.weir.wire.UnreadableException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;
import org.apache.kafka.common.header.Headers;

/**
 * Decodes and validates the records of requests: JSON if the first byte is <code>{</code>, otherwise Avro with the header
 * of single-object encoding or, with a schema registry, of Confluent's wire format.
 */
public final class RequestReader {

    /** How many bytes of an unknown format the dead letter shows. */
    private static final int SHOWN_BYTES = 8;

    /** The first byte of a byte order mark. */
    private static final byte UTF_8_BOM = (byte) 0xEF;

    private final RequestAvro avro;
    private final RequestRules rules;

    public RequestReader(RequestAvro avro, RequestRules rules) {
        this.avro = avro;
        this.rules = rules;
    }

    /**
     * Reads a record of the request topic.
     *
     * @param key only its size matters
     * @param timestampMs the timestamp of the record, 0 if it has none
     * @throws UnreadableException if the record is not a valid request
     * @throws dev.weir.wire.RegistryException if the schema registry does not respond
     */
    public Request read(byte[] key, byte[] value, Headers headers, long timestampMs, Request.Source source)
            throws UnreadableException {
        long size = DeadLetterRecord.bytes(key, value, headers);
        if (size > DeadLetterRecord.MAX_RECORD_BYTES) {
            throw new UnreadableException(
                    Rejection.RECORD_TOO_LARGE,
                    "the record has " + size + " bytes; the maximum is " + DeadLetterRecord.MAX_RECORD_BYTES);
        }
        Request request = decode(value, timestampMs, source);
        Optional<RequestRules.Violation> violation = rules.check(request);
        if (violation.isPresent()) {
            throw new UnreadableException(
                    violation.get().rejection(), violation.get().detail());
        }
        return request;
    }

    private Request decode(byte[] value, long timestampMs, Request.Source source) throws UnreadableException {
        if (value == null || avro.hasHeader(value)) {
            return avro.decode(value, timestampMs, source);
        }
        if (value.length == 0 || value[0] != '{') {
            throw new UnreadableException(Rejection.UNKNOWN_FORMAT, unknownFormat(value));
        }
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(value))
                    .toString();
            return RequestJson.readRecord(text, timestampMs, source);
        } catch (CharacterCodingException e) {
            throw new UnreadableException(Rejection.NOT_JSON, "the value is not UTF-8");
        } catch (IllegalArgumentException e) {
            throw new UnreadableException(Rejection.NOT_JSON, "the value: " + e.getMessage());
        }
    }

    private static String unknownFormat(byte[] value) {
        String start = value.length == 0
                ? "it is empty"
                : "it begins with "
                        + HexFormat.ofDelimiter(" ").formatHex(value, 0, Math.min(value.length, SHOWN_BYTES));
        return "the value is none of: JSON, which begins with {; Avro in single-object encoding, which begins with c3 01;"
                + " Avro in Confluent's wire format, which begins with 00 and needs a schema registry; " + start
                + hint(value);
    }

    /** Returns the likely cause. */
    private static String hint(byte[] value) {
        return switch (value.length == 0 ? -1 : value[0]) {
            case 0 -> ". It looks like Confluent's wire format, which needs registry.url and a schema id of 4 bytes";
            case '[' -> ". Send each request of a JSON array as a record";
            case '"' -> ". It looks like JSON that was serialized twice";
            case ' ', '\n', '\r', '\t', UTF_8_BOM -> ". Remove what precedes the {";
            default -> "";
        };
    }

    /** Returns the client in UTF-8. If the record's key has the same bytes, returns the key, to avoid encoding. */
    static byte[] utf8(String client, byte[] key) {
        return key != null && isUtf8(key, client) ? key : client.getBytes(StandardCharsets.UTF_8);
    }

    /** Returns whether the bytes are the text in UTF-8, without encoding it if it is ASCII. */
    private static boolean isUtf8(byte[] bytes, String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= 0x80) {
                return Arrays.equals(bytes, text.getBytes(StandardCharsets.UTF_8));
            }
            if (i >= bytes.length || bytes[i] != c) {
                return false;
            }
        }
        return bytes.length == text.length();
    }
}
