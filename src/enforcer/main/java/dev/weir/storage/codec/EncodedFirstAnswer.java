package dev.weir.storage.codec;

import dev.weir.decision.state.FirstAnswer;
import dev.weir.event.IdempotentAnswer;
import dev.weir.policy.ContentHash;

/** A first answer as it is stored: the content, and the bytes of the answer. */
final class EncodedFirstAnswer extends FirstAnswer {

    private final ContentHash content;
    private final byte[] answer;
    private final IdempotentAnswerCodec codec;

    EncodedFirstAnswer(ContentHash content, byte[] answer, IdempotentAnswerCodec codec) {
        this.content = content;
        this.answer = answer;
        this.codec = codec;
    }

    @Override
    public ContentHash content() {
        return content;
    }

    @Override
    public IdempotentAnswer answer() {
        return codec.read(StateBytes.toRead(answer));
    }

    /** Returns the bytes of the answer; they must not be changed. */
    byte[] encoded() {
        return answer;
    }
}
