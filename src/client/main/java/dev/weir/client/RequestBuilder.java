package dev.weir.client;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/**
 * A request for quota, field by field; only the client is required.
 *
 * <pre>{@code
 * Request request = RequestBuilder.of("alice")
 *         .tier("free")
 *         .attribute("endpoint", "/articles/7")
 *         .cost(3)
 *         .build();
 * }</pre>
 */
public final class RequestBuilder {

    private static final Request.Source NOWHERE = new Request.Source(0, 0);

    private final String client;
    private final Map<String, String> attributes = new HashMap<>();
    private String requestId;
    private RequestKind kind = RequestKind.CONSUME;
    private String tier;
    private long cost = 1;
    private Long sizeBytes;
    private Instant deadline;
    private byte[] payload;
    private String queue;

    private RequestBuilder(String client) {
        this.client = client;
    }

    /** @param client whose quota is used */
    public static RequestBuilder of(String client) {
        return new RequestBuilder(client);
    }

    /**
     * Names it; without this, by a random UUID. Who sends a request again, after a time-out, gives the id that it had.
     */
    public RequestBuilder requestId(String value) {
        requestId = value;
        return this;
    }

    /** {@link RequestKind#CONSUME} if it is not said. */
    public RequestBuilder kind(RequestKind value) {
        kind = value;
        return this;
    }

    public RequestBuilder tier(String value) {
        tier = value;
        return this;
    }

    /** Tokens, 1 if it is not said. */
    public RequestBuilder cost(long value) {
        cost = value;
        return this;
    }

    /** What is held against {@code max-size}. */
    public RequestBuilder sizeBytes(long value) {
        sizeBytes = value;
        return this;
    }

    /** What policies match on, one of them. */
    public RequestBuilder attribute(String name, String value) {
        attributes.put(name, value);
        return this;
    }

    /** When it becomes useless, if it waits in a queue. */
    public RequestBuilder deadline(Instant value) {
        deadline = value;
        return this;
    }

    /** What goes along to the release. */
    public RequestBuilder payload(byte[] value) {
        payload = value;
        return this;
    }

    /** For {@link RequestKind#CANCEL}: the queue that the QUEUED decision named. */
    public RequestBuilder queue(String value) {
        queue = value;
        return this;
    }

    /** The request, of now. */
    public Request build() {
        return new Request(
                requestId == null ? UUID.randomUUID().toString() : requestId,
                client,
                kind,
                tier,
                cost,
                sizeBytes,
                new HashMap<>(attributes),
                deadline == null ? null : (Long) deadline.toEpochMilli(),
                payload,
                queue,
                System.currentTimeMillis(),
                NOWHERE);
    }
}
