package dev.weir.gateway.envoy.message;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import dev.weir.gateway.envoy.proto.RateLimitResponse;
import io.grpc.MethodDescriptor;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/**
 * A response whose dynamic metadata is encoded already.
 *
 * @param response the response without dynamic metadata
 * @param metadata the bytes of its {@code Struct}; empty for none
 */
public record EncodedResponse(RateLimitResponse response, ByteString metadata) {

    /** Returns the whole message. */
    byte[] bytes() {
        if (metadata.isEmpty()) {
            return response.toByteArray();
        }
        int number = RateLimitResponse.DYNAMIC_METADATA_FIELD_NUMBER;
        byte[] all = new byte[response.getSerializedSize() + CodedOutputStream.computeBytesSize(number, metadata)];
        CodedOutputStream out = CodedOutputStream.newInstance(all);
        try {
            response.writeTo(out);
            out.writeBytes(number, metadata);
        } catch (IOException e) {
            throw new UncheckedIOException("bytes in memory", e);
        }
        return all;
    }

    /** Encodes responses of calls. */
    public static final class Marshaller implements MethodDescriptor.Marshaller<EncodedResponse> {

        @Override
        public InputStream stream(EncodedResponse response) {
            return new MessageStream(response.bytes());
        }

        @Override
        public EncodedResponse parse(InputStream stream) {
            throw new UnsupportedOperationException("a server receives no responses");
        }
    }
}
