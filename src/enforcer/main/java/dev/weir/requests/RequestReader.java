package dev.weir.requests;

import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.policy.RequestRules;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import org.apache.kafka.common.header.Headers;

/** Decodes and validates the records of requests. */
public final class RequestReader {

    private final RequestCodec codec;
    private final RequestRules rules;

    public RequestReader(RequestCodec codec, RequestRules rules) {
        this.codec = codec;
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
        Request request = codec.decode(value, timestampMs, source);
        Optional<RequestRules.Violation> violation = rules.check(request);
        if (violation.isPresent()) {
            throw new UnreadableException(
                    violation.get().rejection(), violation.get().detail());
        }
        return request;
    }

    /** Returns the client in UTF-8. If the record's key has the same bytes, returns the key, to avoid encoding. */
    public static byte[] utf8(String client, byte[] key) {
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
