package dev.weir.client;

import dev.weir.event.Release;

/**
 * What a {@link ReleaseWorker} hands to its handler.
 *
 * @param release the request whose turn has come; its {@code requestId} is another one for each attempt
 * @param attempt counts from 1
 * @param firstRequestId the {@code requestId} of the first attempt: the same for all, so good as a key for idempotency
 *     with whom the handler calls
 */
public record ReleaseTask(Release release, int attempt, String firstRequestId) {

    /** Does it; what it throws makes it a failed attempt. */
    @FunctionalInterface
    public interface Handler {
        void handle(ReleaseTask work) throws Exception;
    }

    /** Is told of work that is not tried any more; if it throws, it is told again. */
    @FunctionalInterface
    public interface GivenUp {
        /** @param cause what the last attempt threw, or a {@link RefusedException} */
        void handle(ReleaseTask work, Throwable cause) throws Exception;
    }
}
