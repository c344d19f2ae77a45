package dev.weir.bench.gateway;

import dev.weir.gateway.envoy.message.MessageStream;
import io.grpc.MethodDescriptor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The messages of Envoy's rate limit service as bytes, so that load and peers have little work of their own. */
final class RateLimitMessages {

    static final String SERVICE = "envoy.service.ratelimit.v3.RateLimitService";

    static final MethodDescriptor<byte[], byte[]> METHOD = MethodDescriptor.newBuilder(new Bytes(), new Bytes())
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, "ShouldRateLimit"))
            .build();

    // RateLimitResponse.overall_code is field 1; its values are OK (1) and OVER_LIMIT (2).
    private static final byte CODE_TAG = 1 << 3;
    private static final byte OK = 1;
    private static final byte OVER_LIMIT = 2;

    private static final int LENGTH_DELIMITED = 2;
    private static final int MAX_LENGTH = 127; // of a length in one byte

    private RateLimitMessages() {}

    /** Returns a RateLimitRequest with one descriptor of two entries. */
    static byte[] request(String domain, String client) {
        byte[] descriptor = concat(
                field(1, concat(text(1, "client"), text(2, client))),
                field(1, concat(text(1, "path"), text(2, "/articles"))));
        return concat(text(1, domain), field(2, descriptor));
    }

    /** Returns a RateLimitResponse without statuses. */
    static byte[] response(boolean isAllowed) {
        return new byte[] {CODE_TAG, isAllowed ? OK : OVER_LIMIT};
    }

    /** Returns whether a RateLimitResponse has the code OK. Fields are in the order of their numbers. */
    static boolean isAllowed(byte[] response) {
        return response.length > 1 && response[0] == CODE_TAG && response[1] == OK;
    }

    private static byte[] text(int number, String text) {
        return field(number, text.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] field(int number, byte[] value) {
        if (value.length > MAX_LENGTH) {
            throw new IllegalArgumentException("a field must have at most " + MAX_LENGTH + " bytes");
        }
        return concat(new byte[] {(byte) (number << 3 | LENGTH_DELIMITED), (byte) value.length}, value);
    }

    private static byte[] concat(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    /** Passes messages on as bytes. */
    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] message) {
            return new MessageStream(message);
        }

        @Override
        public byte[] parse(InputStream message) {
            try {
                return message.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
