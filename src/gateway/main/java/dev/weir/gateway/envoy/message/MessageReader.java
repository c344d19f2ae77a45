package dev.weir.gateway.envoy.message;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import dev.weir.gateway.envoy.proto.RateLimitDescriptor;
import dev.weir.gateway.envoy.proto.RateLimitRequest;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.UnaryOperator;

/**
 * Parses messages. Texts that are not UTF-8 are repaired, with U+FFFD for each bad sequence: Envoy copies values of
 * headers, which can have any bytes, and by default it allows requests whose call fails.
 */
public final class MessageReader implements MethodDescriptor.Marshaller<ReceivedMessage> {

    @Override
    public ReceivedMessage parse(InputStream stream) {
        byte[] bytes;
        try {
            bytes = stream instanceof KnownLength ? stream.readNBytes(stream.available()) : stream.readAllBytes();
        } catch (IOException e) {
            throw Status.INTERNAL
                    .withDescription("the message cannot be read")
                    .withCause(e)
                    .asRuntimeException();
        }
        try {
            return new ReceivedMessage.Readable(RateLimitRequest.parseFrom(bytes));
        } catch (InvalidProtocolBufferException e) {
            return parseRepaired(bytes);
        }
    }

    private static ReceivedMessage parseRepaired(byte[] bytes) {
        try {
            return new ReceivedMessage.Readable(RateLimitRequest.parseFrom(repaired(ByteString.copyFrom(bytes))));
        } catch (InvalidProtocolBufferException e) {
            return new ReceivedMessage.Unreadable("the message is not a RateLimitRequest: " + e.getMessage());
        }
    }

    private static ByteString repaired(ByteString request) throws InvalidProtocolBufferException {
        ByteString withDomain = replaced(request, RateLimitRequest.DOMAIN_FIELD_NUMBER, MessageReader::repairedText);
        return replacedMessages(
                withDomain,
                RateLimitRequest.DESCRIPTORS_FIELD_NUMBER,
                descriptor -> replacedMessages(
                        descriptor,
                        RateLimitDescriptor.ENTRIES_FIELD_NUMBER,
                        entry -> replaced(
                                replaced(
                                        entry, RateLimitDescriptor.Entry.KEY_FIELD_NUMBER, MessageReader::repairedText),
                                RateLimitDescriptor.Entry.VALUE_FIELD_NUMBER,
                                MessageReader::repairedText)));
    }

    private interface Repair {
        ByteString apply(ByteString message) throws InvalidProtocolBufferException;
    }

    private static ByteString repairedText(ByteString text) {
        return text.isValidUtf8() ? text : ByteString.copyFromUtf8(text.toStringUtf8());
    }

    private static ByteString replaced(ByteString message, int number, UnaryOperator<ByteString> repair)
            throws InvalidProtocolBufferException {
        return replacedMessages(message, number, repair::apply);
    }

    /** Returns a message with other bytes in a field. */
    private static ByteString replacedMessages(ByteString message, int number, Repair repair)
            throws InvalidProtocolBufferException {
        UnknownFieldSet fields = UnknownFieldSet.parseFrom(message);
        if (!fields.hasField(number)) {
            return message;
        }
        UnknownFieldSet.Field.Builder other = UnknownFieldSet.Field.newBuilder();
        for (ByteString value : fields.getField(number).getLengthDelimitedList()) {
            other.addLengthDelimited(repair.apply(value));
        }
        return fields.toBuilder().addField(number, other.build()).build().toByteString();
    }

    @Override
    public InputStream stream(ReceivedMessage message) {
        throw new UnsupportedOperationException("a server sends no requests");
    }
}
