package dev.weir.storage.codec;

import dev.weir.decision.state.IdempotencyCache.Entry;
import dev.weir.decision.state.IdempotencyCache.EvictionEntry;
import dev.weir.event.Decision;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.LimitStatus;
import dev.weir.event.PolicyVersion;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.wire.DecisionCodec;
import java.util.ArrayList;
import java.util.List;

/**
 * Encodes the entries of an idempotency cache: answers, and eviction entries. Numbers are encoded as in
 * {@link StateBytes}; signed ones are marked ±.
 *
 * <pre>
 *   answer    version  number  until±  content, 32 bytes  0  decision
 *             version  number  until±  content, 32 bytes  1  queue  policy  version  flags
 *             limited by (with flag 1)  limit± (with flag 2)  n, observing policy × n (with flag 4)
 *   eviction  version  at±  until±  client  kind  request id
 * </pre>
 */
public final class IdempotentAnswerCodec {

    private static final int VERSION = 1;
    private static final int DECIDED = 0;
    private static final int SENT = 1;

    private static final int LIMITED_BY = 1;
    private static final int LIMIT = 2;
    private static final int OBSERVED = 4;

    private final DecisionCodec decisions = new DecisionCodec();

    public byte[] encode(Entry entry) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.write(entry.number());
        out.writeSigned(entry.untilMs());
        write(entry.content(), out);
        write(entry.answer(), out);
        return out.written();
    }

    void write(IdempotentAnswer answer, StateBytes out) {
        if (answer instanceof IdempotentAnswer.SentToQueue sent) {
            out.writeByte(SENT);
            out.write(sent.queue());
            out.write(sent.policy().id());
            out.write(sent.policy().version());
            LimitStatus exceeded = sent.exceeded();
            boolean hasLimit = exceeded != null && exceeded.limit() != null;
            boolean isObserved = !sent.observedBy().isEmpty();
            out.writeByte((exceeded == null ? 0 : LIMITED_BY) | (hasLimit ? LIMIT : 0) | (isObserved ? OBSERVED : 0));
            if (exceeded != null) {
                out.write(exceeded.label());
            }
            if (hasLimit) {
                out.writeSigned(exceeded.limit());
            }
            if (isObserved) {
                out.write(sent.observedBy().size());
                sent.observedBy().forEach(out::write);
            }
        } else {
            out.writeByte(DECIDED);
            out.write(decisions.encode((Decision) answer));
        }
    }

    public Entry decodeEntry(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "an idempotency entry");
        long number = in.read();
        long untilMs = in.readSigned();
        return new Entry(number, untilMs, readContent(in), read(in));
    }

    IdempotentAnswer read(StateBytes in) {
        return in.readByte() == SENT ? sent(in) : decision(in);
    }

    static ContentHash readContent(StateBytes in) {
        return new ContentHash(in.readFixed(), in.readFixed(), in.readFixed(), in.readFixed());
    }

    static void write(ContentHash content, StateBytes out) {
        out.writeFixed(content.first());
        out.writeFixed(content.second());
        out.writeFixed(content.third());
        out.writeFixed(content.fourth());
    }

    public static byte[] encode(EvictionEntry entry) {
        StateBytes out = StateBytes.toWrite(VERSION);
        out.writeSigned(entry.atMs());
        out.writeSigned(entry.untilMs());
        out.write(entry.key().client());
        out.write(entry.key().kind().name());
        out.write(entry.key().requestId());
        return out.written();
    }

    public static EvictionEntry decodeEvictionEntry(byte[] bytes) {
        StateBytes in = StateBytes.toRead(bytes, VERSION, "an eviction entry");
        long atMs = in.readSigned();
        long untilMs = in.readSigned();
        return new EvictionEntry(
                new RequestKey(in.readText(), RequestKind.valueOf(in.readText()), in.readText()), atMs, untilMs);
    }

    private static IdempotentAnswer sent(StateBytes in) {
        String queue = in.readText();
        String policyId = in.readText();
        long policyVersion = in.read();
        int flags = in.readByte();
        String limitedBy = (flags & LIMITED_BY) == 0 ? null : in.readText();
        Long limit = (flags & LIMIT) == 0 ? null : (Long) in.readSigned();
        LimitStatus exceeded = (flags & LIMITED_BY) == 0 ? null : LimitStatus.of(limitedBy, limit);
        List<String> observedBy = new ArrayList<>();
        for (long left = (flags & OBSERVED) == 0 ? 0 : in.read(); left > 0; left--) {
            observedBy.add(in.readText());
        }
        return new IdempotentAnswer.SentToQueue(
                queue, new PolicyVersion(policyId, policyVersion), exceeded, observedBy);
    }

    private IdempotentAnswer decision(StateBytes in) {
        try {
            return decisions.decode(in.readBytes());
        } catch (UnreadableException e) {
            throw new IllegalStateException("the decision of an idempotency entry cannot be decoded", e);
        }
    }
}
