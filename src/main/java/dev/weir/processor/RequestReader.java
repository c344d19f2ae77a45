package dev.weir.processor;

import dev.weir.codec.RequestAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.policy.Rejection;
import dev.weir.policy.Request;
import dev.weir.policy.RequestRules;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import org.apache.kafka.common.header.Headers;

/** Reads a record of the request topic: it is a request, or there is a reason why it is none. */
public final class RequestReader {

    private final RequestAvro avro;
    private final RequestRules rules;

    public RequestReader(RequestAvro avro, RequestRules rules) {
        this.avro = avro;
        this.rules = rules;
    }

    /**
     * Reads one.
     *
     * @param timestampMs the record's, 0 if it has none
     * @throws UnreadableException if it is no request
     * @throws dev.weir.codec.RegistryException if the registry that has its schema does not answer
     */
    public Request read(byte[] key, byte[] value, Headers headers, long timestampMs, Request.Source source)
            throws UnreadableException {
        long size = DeadLetter.bytes(key, value, headers);
        if (size > DeadLetter.MAX_RECORD_BYTES) {
            throw new UnreadableException(
                    Rejection.RECORD_TOO_LARGE,
                    "the record has " + size + " bytes, the most is " + DeadLetter.MAX_RECORD_BYTES);
        }
        if (key == null) {
            throw new UnreadableException(Rejection.NO_KEY, "the record has no key");
        }
        Request request = avro.decode(value, timestampMs, source);
        Optional<RequestRules.Violation> violation = rules.check(request);
        if (violation.isPresent()) {
            throw new UnreadableException(
                    violation.get().rejection(), violation.get().detail());
        }
        if (!isUtf8(key, request.client())) {
            throw new UnreadableException(Rejection.KEY_IS_NOT_CLIENT, "the record's key is not its client");
        }
        return request;
    }

    /** Whether the bytes are those of the text; while it is ASCII, without making them. */
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
