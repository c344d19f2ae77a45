package dev.weir.shape;

import dev.weir.decision.state.IdempotencyCache;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.QueueDecisions;
import java.util.ArrayList;
import java.util.List;

/** The effects of the current operation, in order. First answers to requests that may be repeated are also cached. */
final class EffectLog {

    private final IdempotencyCache cache;
    private List<QueueEffect> effects = new ArrayList<>();

    EffectLog(IdempotencyCache cache) {
        this.cache = cache;
    }

    void add(QueueEffect effect) {
        effects.add(effect);
    }

    /** Answers a request. */
    void decide(Admission admission, Decision decision) {
        if (admission.idempotentUntilMs() > 0 && !decision.endsWait()) {
            Request request = admission.request();
            cache.put(
                    RequestKey.of(request),
                    ContentHash.of(request),
                    decision,
                    request.timestampMs(),
                    admission.idempotentUntilMs());
        }
        add(new QueueEffect.Decided(admission, decision));
    }

    void release(Admission admission, Release release) {
        add(new QueueEffect.Released(admission, release));
    }

    /** Answers a repeated request. */
    void decideRepeat(Admission repeat, long nowMs) {
        add(new QueueEffect.Decided(repeat, repeatedDecision(repeat, nowMs)));
    }

    /** Returns the answer to a repeated request. The sender has checked that the first answer has not expired. */
    Decision repeatedDecision(Admission repeat, long nowMs) {
        IdempotencyCache.Entry first = cache.get(RequestKey.of(repeat.request()));
        boolean isKnown = first != null && first.content().equals(ContentHash.of(repeat.request()));
        return !isKnown
                ? QueueDecisions.acceptedRepeat(repeat, nowMs)
                : QueueDecisions.repeated((Decision) first.answer(), repeat);
    }

    /** Returns the messages among the effects and removes them. */
    List<QueueMessage> takeMessages() {
        List<QueueMessage> messages = new ArrayList<>();
        effects.removeIf(effect -> {
            if (effect instanceof QueueEffect.Sent sent) {
                messages.add(sent.message());
                return true;
            }
            return false;
        });
        return messages;
    }

    /** Returns the effects and starts those of the next operation. */
    List<QueueEffect> take() {
        List<QueueEffect> taken = effects;
        effects = new ArrayList<>();
        return taken;
    }
}
