package dev.weir.decision.state;

import dev.weir.event.IdempotentAnswer;
import dev.weir.policy.ContentHash;

/**
 * The content of the request that created a reservation, and its answer. An immutable value. Few answers are needed
 * again, so one that was stored can be decoded when it is.
 */
public abstract class FirstAnswer {

    /** Returns an answer that is known. */
    public static FirstAnswer of(ContentHash content, IdempotentAnswer answer) {
        return new FirstAnswer() {
            @Override
            public ContentHash content() {
                return content;
            }

            @Override
            public IdempotentAnswer answer() {
                return answer;
            }
        };
    }

    /** Returns the hash of the request's content. */
    public abstract ContentHash content();

    /** Returns the answer. */
    public abstract IdempotentAnswer answer();

    @Override
    public final boolean equals(Object other) {
        return other instanceof FirstAnswer first
                && content().equals(first.content())
                && answer().equals(first.answer());
    }

    @Override
    public final int hashCode() {
        return content().hashCode();
    }
}
