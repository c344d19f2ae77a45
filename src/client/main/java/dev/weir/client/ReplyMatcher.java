package dev.weir.client;

import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.event.Decision;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.UnreadableException;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Matches the decisions that a client reads to its requests. */
// The client reads one partition of the topic of replies, which it selects at random, and each of its requests names
// that partition in a header. Enforcers write a copy of the decision there. So a client receives the decisions on its
// own requests and on those of the clients that share its partition, and not those on all requests.
//
// Decisions keep the headers of their request. The client therefore adds another header to each request, its
// RequestCorrelation. By this header the client skips decisions of other clients without decoding them. It also finds
// the right one of two requests with the same id, such as a CONSUME and its SETTLE, whose decisions are alike.
//
// A decision that ends a wait in a queue (EXPIRED, evicted, cancelled) carries the header of the request that waited.
// It is ignored, because that request was answered when it began to wait.
final class ReplyMatcher {

    private final RequestCorrelation correlation;
    private final DecisionCodec codec;
    private final RequestCompleter completer;

    ReplyMatcher(RequestCorrelation correlation, DecisionCodec codec, RequestCompleter completer) {
        this.correlation = correlation;
        this.codec = codec;
        this.completer = completer;
    }

    /** Completes the request that a record of the topic of replies answers. */
    void read(ConsumerRecord<byte[], byte[]> record) {
        OptionalLong number = correlation.number(record.headers());
        if (number.isEmpty()) {
            return;
        }
        try {
            Decision decision = codec.decode(record.value());
            if (!decision.endsWait()) {
                completer.answer(number.getAsLong(), decision);
            }
        } catch (UnreadableException | RuntimeException e) {
            completer.giveUp(number.getAsLong(), NoDecisionReason.UNREADABLE, e);
        }
    }
}
