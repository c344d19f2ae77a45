package dev.weir.client;

import dev.weir.event.Acknowledgement;
import dev.weir.event.LimitOverride;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/**
 * Builds a {@link Request}. Only the client is required. The values are checked when the request is passed to a
 * {@link WeirClient}. Not thread-safe.
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

    private final Request.Builder request;
    private Map<String, String> attributes = new HashMap<>();
    private boolean isBuilt; // whether the attributes belong to a request
    private String requestId;
    private Instant deadline;
    private Instant notBefore;
    private String receipt; // null unless it acknowledges a release
    private Acknowledgement.Result result;
    private Long retryAfterMs;
    private String error;

    private RequestBuilder(String client) {
        request = Request.builder(null, client).source(0, 0);
    }

    /**
     * Returns a builder for a request of a client.
     *
     * @param client the client whose quota is used: 1 to 256 Unicode code points
     * @return a builder
     */
    public static RequestBuilder of(String client) {
        return new RequestBuilder(client);
    }

    /**
     * Returns a builder for the acknowledgement of a release: a {@link RequestKind#COMPLETE} with a {@link #result}, or
     * an {@link RequestKind#EXTEND}. {@link WeirClient#complete} and {@link WeirClient#extend} build the usual ones.
     *
     * @param release a release with an {@linkplain Release#attempt attempt}
     * @return a builder with the client and the receipt of the release
     * @throws IllegalArgumentException if the release has no attempt: its queue has no {@code max-in-flight}
     */
    public static RequestBuilder acknowledging(Release release) {
        if (release.attempt() == null) {
            throw new IllegalArgumentException(
                    "queue " + release.queue() + " does not expect an acknowledgement, since it has no max-in-flight");
        }
        RequestBuilder builder = new RequestBuilder(release.client());
        builder.receipt = release.attempt().receipt();
        return builder;
    }

    /**
     * Sets the id of the request. The default is a random UUID, which differs for each built request. To send a request
     * again, for example after a time-out, use the id of the first attempt.
     *
     * @param value the id: 1 to 256 Unicode code points
     * @return this builder
     */
    public RequestBuilder requestId(String value) {
        requestId = value;
        return this;
    }

    /**
     * Sets the kind of the request. The default is {@link RequestKind#CONSUME}.
     *
     * @param value the kind
     * @return this builder
     */
    public RequestBuilder kind(RequestKind value) {
        request.kind(value);
        return this;
    }

    /**
     * Sets the client's plan. By default there is none.
     *
     * @param value the tier: up to 256 Unicode code points; null for none
     * @return this builder
     */
    public RequestBuilder tier(String value) {
        request.tier(value);
        return this;
    }

    /**
     * Sets the cost in tokens. The default is 1.
     *
     * @param value the cost: 0 or more, also negative for a {@link RequestKind#SETTLE} that names no reservation
     * @return this builder
     */
    public RequestBuilder cost(long value) {
        request.cost(value);
        return this;
    }

    /**
     * Sets the size that is compared with a policy's {@code max-size}. By default it is unknown, and {@code max-size}
     * does not apply.
     *
     * @param value the size in bytes, 0 or more
     * @return this builder
     */
    public RequestBuilder sizeBytes(long value) {
        request.sizeBytes(value);
        return this;
    }

    /**
     * Adds an attribute, which policies can match and count by. It replaces an earlier value of the same name.
     *
     * @param name the name, such as {@code endpoint}
     * @param value the value
     * @return this builder
     */
    public RequestBuilder attribute(String name, String value) {
        if (isBuilt) {
            attributes = new HashMap<>(attributes);
            isBuilt = false;
        }
        attributes.put(name, value);
        return this;
    }

    /**
     * Sets the time after which the request is useless. If it still waits in a queue then, it expires. By default there
     * is none.
     *
     * @param value the deadline; null for none
     * @return this builder
     */
    public RequestBuilder deadline(Instant value) {
        deadline = value;
        return this;
    }

    /**
     * Sets the time before which the request is not released. A policy that shapes sends it to its queue, whatever its
     * limits permit, where it takes no turn until then. If no such policy applies, the request is denied with {@link
     * dev.weir.event.Reason#NOT_SHAPED}. By default, or if the time is past, a request is not held back. Requests of other
     * kinds than CONSUME and PEEK must not have it.
     *
     * @param value the time, up to 30 days ahead; null for none
     * @return this builder
     */
    public RequestBuilder notBefore(Instant value) {
        notBefore = value;
        return this;
    }

    /**
     * Sets the payload, which Weir copies to the release of a queued request. By default there is none.
     *
     * @param value the payload, which is not copied; null for none
     * @return this builder
     */
    public RequestBuilder payload(byte[] value) {
        request.payload(value);
        return this;
    }

    /**
     * Sets the queue of a {@link RequestKind#CANCEL}: the one that the {@code QUEUED} decision names. Without it, a
     * CANCEL is for the reservation with its requestId. By default there is none.
     *
     * @param value the id of the queue; null for none
     * @return this builder
     */
    public RequestBuilder queue(String value) {
        request.queue(value);
        return this;
    }

    /**
     * Sets the limit of this request. It replaces the number of tokens of the limits whose window is as long as
     * {@code window}, in policies with {@code allow-override: true}; other limits ignore it. By default there is none.
     *
     * @param limit tokens per window, 0 or more; 0 denies every cost above 0
     * @param window the length of the window, at least 1 ms
     * @return this builder
     * @throws ArithmeticException if the window is not within the range of milliseconds in a {@code long}
     */
    public RequestBuilder limitOverride(long limit, Duration window) {
        request.limitOverride(new LimitOverride(limit, window.toMillis()));
        return this;
    }

    /**
     * Sets the policy whose limits a {@link RequestKind#RESET} frees. If it does not apply to the request, the request
     * is denied with {@link dev.weir.event.Reason#POLICY_NOT_APPLICABLE}. By default, a RESET frees the limits of all
     * policies that apply. Requests of other kinds must not have it.
     *
     * @param value the id of the policy; null for all
     * @return this builder
     */
    public RequestBuilder policyId(String value) {
        request.policyId(value);
        return this;
    }

    /**
     * Lets a {@link RequestKind#CONSUME} create a reservation, which a later request can settle, release, cancel or
     * renew. It ends after this time, or sooner if a concurrency limit has a shorter {@code ttl}. By default, a request
     * creates a reservation only if it passes a concurrency limit. Requests of other kinds than CONSUME and PEEK must not
     * have it.
     *
     * @param value 1 ms to 30 days; null for none
     * @return this builder
     * @throws ArithmeticException if the time is not within the range of milliseconds in a {@code long}
     */
    public RequestBuilder reserve(Duration value) {
        request.reserveMs(value == null ? null : (Long) value.toMillis());
        return this;
    }

    /**
     * Sets the reservation that a {@link RequestKind#SETTLE} ends. Its cost is then what the request really cost. By
     * default there is none, and a SETTLE corrects the usage by a signed cost. Requests of other kinds must not have it.
     *
     * @param value the requestId of the request that created the reservation; null for none
     * @return this builder
     */
    public RequestBuilder settles(String value) {
        request.settles(value);
        return this;
    }

    /**
     * Sets how the attempt of a {@link RequestKind#COMPLETE} ended. It is required for this kind, and others must not
     * have it.
     *
     * @param value the result
     * @return this builder
     */
    public RequestBuilder result(Acknowledgement.Result value) {
        result = value;
        return this;
    }

    /**
     * Sets how long the next attempt waits at least, after a {@link Acknowledgement.Result#RETRY}. By default it waits
     * for the backoff of its queue.
     *
     * @param value 0 to 30 days; null for the backoff
     * @return this builder
     * @throws ArithmeticException if the time is not within the range of milliseconds in a {@code long}
     */
    public RequestBuilder retryAfter(Duration value) {
        retryAfterMs = value == null ? null : (Long) value.toMillis();
        return this;
    }

    /**
     * Sets what went wrong in an attempt. The dead letter of a request whose last attempt failed has it. By default it
     * is unknown.
     *
     * @param value up to {@value Acknowledgement#MAX_ERROR_LENGTH} Unicode code points; null if unknown
     * @return this builder
     */
    public RequestBuilder error(String value) {
        error = value;
        return this;
    }

    /**
     * Returns the request, with the current time as its timestamp.
     *
     * @return a new request
     * @throws ArithmeticException if the deadline or the earliest time is not within the range of milliseconds in a {@code long}
     */
    public Request build() {
        isBuilt = true;
        return request.requestId(requestId == null ? UUID.randomUUID().toString() : requestId)
                .attributes(Collections.unmodifiableMap(attributes)) // which may be those of several requests
                .deadlineMs(deadline == null ? null : (Long) deadline.toEpochMilli())
                .notBeforeMs(notBefore == null ? null : (Long) notBefore.toEpochMilli())
                .acknowledgement(receipt == null ? null : new Acknowledgement(receipt, result, retryAfterMs, error))
                .timestampMs(System.currentTimeMillis())
                .build();
    }
}
