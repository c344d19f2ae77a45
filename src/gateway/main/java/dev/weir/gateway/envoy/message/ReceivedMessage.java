package dev.weir.gateway.envoy.message;

import dev.weir.gateway.envoy.proto.RateLimitRequest;

/** A message as it was received: one that can be read, or bytes that are none. */
public sealed interface ReceivedMessage {

    /** A message that can be read. */
    record Readable(RateLimitRequest request) implements ReceivedMessage {}

    /** Bytes that are no message. */
    record Unreadable(String fault) implements ReceivedMessage {}
}
