package dev.weir.processor;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.requests.CarriedHeaders;
import dev.weir.requests.DeadLetterForwarder;
import dev.weir.requests.ReservationCancellation;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.QueueRules;
import dev.weir.storage.StoredQueues;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Function;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Carries out the effects of a task's queues: stores states, and forwards the rest with queue time as the timestamp;
 * decisions, their replies and releases have the key and headers of their request. If a decision means that a request
 * with a reservation will not be released, the task of its client gets a {@link ReservationCancellation}.
 *
 * @param rules returns the rules of a queue by its id, null if it was deleted
 * @param deadLetters receives the requests that a queue gives up
 */
record QueueEffectForwarder(
        ProcessorContext<byte[], Object> context,
        Shape.Outlets outlets,
        ReplyForwarder replies,
        EnforcerMetrics metrics,
        Function<String, QueueRules> rules,
        StoredQueues queues,
        DeadRequests deadLetters) {

    /**
     * Writes requests that are given up to the dead letters, as they were read, so that they can be sent again.
     *
     * @param topic the topic from which requests are read
     */
    record DeadRequests(DeadLetterForwarder deadLetters, String topic) {

        private static final RequestCodec REQUESTS = new RequestCodec();

        void giveUp(QueueEffect.GivenUp given) {
            Request request = given.admission().request();
            Record<byte[], byte[]> record = new Record<>(
                    request.client().getBytes(StandardCharsets.UTF_8),
                    REQUESTS.encode(request),
                    request.timestampMs(),
                    CarriedHeaders.to(given.admission().headers()));
            deadLetters.reject(record, given.rejection(), given.detail(), topic, request.source());
        }
    }

    /** @param nowMs the queue time in milliseconds */
    void carryOut(List<QueueEffect> effects, long nowMs) {
        for (QueueEffect effect : effects) {
            if (effect instanceof QueueEffect.StateStored stored) {
                queues.store(stored);
            } else if (effect instanceof QueueEffect.Decided decided) {
                decide(decided.admission(), decided.decision(), nowMs);
            } else if (effect instanceof QueueEffect.Released released) {
                release(released.admission(), released.release(), nowMs);
            } else if (effect instanceof QueueEffect.GivenUp given) {
                deadLetters.giveUp(given);
            } else if (effect instanceof QueueEffect.AttemptEnded ended) {
                metrics.attemptEnded(ended.queue(), ended.end());
            } else {
                send(((QueueEffect.Sent) effect).message(), nowMs);
            }
        }
    }

    /** Sends a message to the task of another partition, or of this one, which reads it after the next commit. */
    void send(QueueMessage message, long nowMs) {
        context.forward(new Record<>(null, message, nowMs), outlets.messages());
    }

    private void decide(Admission admission, Decision decision, long nowMs) {
        metrics.decidedByQueue(decision);
        Decision decided = decision.withContext(admission.context());
        Record<byte[], Object> record = record(admission, decided, nowMs);
        context.forward(record, outlets.decisions());
        replies.forward(record, decided);
        if (admission.isReservationEndedBy(decision)) {
            cancelReservation(admission);
        }
    }

    private void cancelReservation(Admission admission) {
        ReservationCancellation cancellation = new ReservationCancellation(
                admission.request().client(),
                admission.request().requestId(),
                admission.identity().reservation());
        context.forward(
                new Record<>(
                        cancellation.key(),
                        cancellation.value(),
                        admission.request().timestampMs(),
                        cancellation.headers()),
                outlets.reservations());
    }

    private void release(Admission admission, Release release, long nowMs) {
        metrics.released(admission.request(), release, rules.apply(release.queue()), nowMs);
        context.forward(record(admission, release, nowMs), outlets.releases());
    }

    private static Record<byte[], Object> record(Admission admission, Object value, long nowMs) {
        byte[] key = admission.request().client().getBytes(StandardCharsets.UTF_8);
        return new Record<>(key, value, nowMs, CarriedHeaders.to(admission.headers()));
    }
}
