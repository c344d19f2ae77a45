package dev.weir.client;

/**
 * A stage of the path of requests. {@link WeirClient} connects them: a request waits for the connection
 * ({@link ConnectionStage}), is decided by leases ({@link LeaseStage}), or is sent to an enforcer ({@link TopicStage}).
 * {@link RequestCompleter} ends it. Thread-safe.
 */
interface RequestStage {

    /** Ends a request, lets it wait, or passes it to the next stage. */
    void accept(PendingRequest request);

    /** Returns how many requests wait to be sent, in this stage and in those after it. */
    int queued();
}
