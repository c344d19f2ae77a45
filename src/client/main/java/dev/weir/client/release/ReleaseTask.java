package dev.weir.client.release;

import dev.weir.event.Release;

/**
 * A release that a {@link ReleaseWorker} passes to its handler.
 *
 * @param release the release; its {@code requestId} differs between attempts if its queue has no {@code max-in-flight}
 * @param attempt the number of the attempt, from 1
 * @param firstRequestId the {@code requestId} of the first attempt. It is the same for all attempts, so it can serve as
 *     an idempotency key for the service that the handler calls
 */
public record ReleaseTask(Release release, int attempt, String firstRequestId) {

    /** Handles releases. The worker calls it from several threads at the same time. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Handles one attempt of a release. The attempt succeeds if the method returns, and fails if it throws. After a
         * {@link ReleaseFailedException} there is no other attempt.
         *
         * @param work the release and its attempt
         * @throws Exception if the attempt failed; any exception or error is accepted
         */
        void handle(ReleaseTask work) throws Exception;
    }

    /** Receives releases whose last attempt failed. The worker calls it from several threads at the same time. */
    @FunctionalInterface
    public interface GivenUp {
        /**
         * Handles a release that is not tried again. If the method throws, the worker calls it again later.
         *
         * @param work the release and its last attempt
         * @param cause what the last attempt threw, or a {@link RefusedException} if Weir denied it
         * @throws Exception if the release could not be handled; any exception or error is accepted
         */
        void handle(ReleaseTask work, Throwable cause) throws Exception;
    }
}
