package dev.weir.decision;

import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.PolicyStates;
import dev.weir.event.LimitOverride;
import dev.weir.event.Request;
import dev.weir.limit.LimitAccount;
import dev.weir.policy.Policy;

/** A policy whose limits are counted in the decider's own states, with the state of the request's key. */
final class CountedPolicy extends AppliedPolicy {

    /** The stored state, null if there is none. */
    final PolicyState stored;

    /** The limit of the request, null if it has none or the policy allows none. */
    final LimitOverride override;

    CountedPolicy(Policy policy, Request request, PolicyStates states) {
        super(policy, request);
        stored = policy.terms().isEmpty() ? null : states.get(key);
        override = request.limitOverride() != null && policy.allowsOverride() ? request.limitOverride() : null;
    }

    /** Returns the time of the request that was charged last, or {@code atMs} if that is later. */
    long notBeforeMs(long atMs) {
        return stored == null ? atMs : Math.max(atMs, stored.lastRequestMs());
    }

    /**
     * Returns the time of the last charge, or {@code atMs} if that is later. For a policy that throttles, it is ahead
     * of requests that were delayed.
     */
    long clockMs(long atMs) {
        return stored == null ? atMs : Math.max(atMs, throttles() ? stored.lastStartMs() : stored.lastChargeMs());
    }

    /** Returns an account of the state with the request's override. */
    LimitAccount<?> ofRequest(LimitAccount<?> account) {
        return override == null ? account : account.withTokens(override.limit(), override.windowMs());
    }
}
