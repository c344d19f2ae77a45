package dev.weir.client.pipeline;

/**
 * A stage of the path of requests. {@link RequestPipeline} connects them. Thread-safe.
 */
interface RequestStage {

    /** Ends a request, lets it wait, or passes it to the next stage. */
    void accept(PendingRequest request);

    /** Returns how many requests wait to be sent, in this stage and in those after it. */
    int queued();
}
