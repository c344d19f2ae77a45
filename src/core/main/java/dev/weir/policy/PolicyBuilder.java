package dev.weir.policy;

import java.util.List;

/** Builds a {@link Policy}. Not thread-safe. */
public final class PolicyBuilder {

    private String id;
    private long version = 1;
    private EffectivePeriod effective = EffectivePeriod.ALWAYS;
    private String layer = Policy.DEFAULT_LAYER;
    private int priority;
    private RequestMatcher match = RequestMatcher.ALL;
    private List<String> key = List.of("client");
    private List<Policy.Term> terms = List.of();
    private Long maxSizeBytes;
    private OnExceed onExceed = OnExceed.DENY;
    private long idempotencyMs;
    private Sharing sharing;

    PolicyBuilder(String id) {
        this.id = id;
    }

    /** Sets the id. */
    public PolicyBuilder id(String value) {
        id = value;
        return this;
    }

    /** Sets the version number, from 1. The default is 1. */
    public PolicyBuilder version(long value) {
        version = value;
        return this;
    }

    /** Sets when the version is in force. The default is always. */
    public PolicyBuilder effective(EffectivePeriod value) {
        effective = value;
        return this;
    }

    /** Sets the layer. The default is {@value Policy#DEFAULT_LAYER}. */
    public PolicyBuilder layer(String value) {
        layer = value;
        return this;
    }

    /** Sets the priority in the layer. The default is 0. */
    public PolicyBuilder priority(int value) {
        priority = value;
        return this;
    }

    /** Sets the requests that the policy matches. The default is all. */
    public PolicyBuilder match(RequestMatcher value) {
        match = value;
        return this;
    }

    /** Sets the request fields by which usage is counted separately. The default is the client. */
    public PolicyBuilder key(List<String> value) {
        key = value;
        return this;
    }

    /** Sets the limits. By default there are none. */
    public PolicyBuilder terms(List<Policy.Term> value) {
        terms = value;
        return this;
    }

    /** Sets the largest permitted request size; null for any, the default. */
    public PolicyBuilder maxSizeBytes(Long value) {
        maxSizeBytes = value;
        return this;
    }

    /** Sets what happens to requests that exceed the limits. By default they are denied. */
    public PolicyBuilder onExceed(OnExceed value) {
        onExceed = value;
        return this;
    }

    /** Sets how long a repeated requestId gets its first decision again; 0 for not at all, the default. */
    public PolicyBuilder idempotencyMs(long value) {
        idempotencyMs = value;
        return this;
    }

    /** Sets how the quota is lent; null, the default, if only a key without client shares it. */
    public PolicyBuilder sharing(Sharing value) {
        sharing = value;
        return this;
    }

    /**
     * Returns the policy.
     *
     * @throws IllegalArgumentException if a part is out of its range; the message names the part
     */
    public Policy build() {
        return new Policy(
                id,
                version,
                effective,
                layer,
                priority,
                match,
                key,
                terms,
                maxSizeBytes,
                onExceed,
                idempotencyMs,
                sharing);
    }
}
