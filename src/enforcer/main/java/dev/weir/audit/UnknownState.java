package dev.weir.audit;

import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.policy.Policy;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Whose count is not known, and why. A count is known again once it surely says nothing any more: the client was
 * allowed something, so it was not in debt, and has paused since then for as long as the limits take to be whole again
 * from nothing.
 *
 * <pre>
 *   in doubt ──▶ allowed at t by version v ──▶ the next request at t' ≥ t + (the longest delay) + (nothing to whole) by v ──▶ known
 *        ▲              │ another version, a SETTLE, a counted denial
 *        └──────────────┘
 * </pre>
 */
final class UnknownState {

    /** Of so many keys it is told apart what is known of them. */
    private static final int MAX_KEYS = 1_000_000;

    private static final UnknownCount NONE = new UnknownCount(null, 0, 0);

    /**
     * What is known of a count that is not known.
     *
     * @param version by which the client was allowed something since the doubt began, 0 if it was not
     * @param lastMs until when it may have taken something since
     */
    private record UnknownCount(UnverifiedReason why, long version, long lastMs) {}

    private final Map<StateKey, UnknownCount> unknownByKey = new HashMap<>();
    private final Consumer<StateKey> resetState;
    private final long longestDelayMs;
    private UnverifiedReason defaultReason;

    /**
     * Begins.
     *
     * @param ofAll why no count is known at the beginning, null if all are
     * @param fresh is told whose count says nothing any more
     */
    UnknownState(UnverifiedReason ofAll, long longestDelayMs, Consumer<StateKey> fresh) {
        defaultReason = ofAll;
        this.longestDelayMs = longestDelayMs;
        this.resetState = fresh;
    }

    /** A count is not known from here on. */
    void add(StateKey key, UnverifiedReason why) {
        if (defaultReason == null && unknownByKey.size() >= MAX_KEYS) {
            defaultReason = why;
            unknownByKey.clear();
        }
        if (defaultReason == null || unknownByKey.size() < MAX_KEYS || unknownByKey.containsKey(key)) {
            unknownByKey.put(key, new UnknownCount(why, 0, 0));
        }
    }

    /** No count is known from here on. */
    void addAll(UnverifiedReason why) {
        defaultReason = defaultReason == null ? why : defaultReason;
        unknownByKey.clear();
    }

    /** Why a request cannot be judged by these policies, null if it can. */
    UnverifiedReason unverifiedReason(Request request, Collection<Policy> applicable) {
        if (defaultReason == null && unknownByKey.isEmpty()) {
            return null;
        }
        UnverifiedReason about = null;
        for (Policy policy : applicable) {
            StateKey key = policy.stateKey(request);
            UnknownCount doubt = policy.isShared() ? NONE : of(key);
            boolean isOver = doubt.why != null
                    && doubt.version == policy.version()
                    && request.timestampMs() >= recoveredAtMs(policy, doubt.lastMs);
            if (isOver) {
                resetState.accept(key);
                markKnown(key);
            } else if (doubt.why != null) {
                about = doubt.why;
            }
            if (policy.idempotencyMs() > 0 && defaultReason != null) {
                about = defaultReason; // whether it was asked before is not known
            }
        }
        return about;
    }

    private UnknownCount of(StateKey key) {
        UnknownCount doubt = unknownByKey.get(key);
        return doubt != null ? doubt : defaultReason == null ? NONE : new UnknownCount(defaultReason, 0, 0);
    }

    private void markKnown(StateKey key) {
        if (defaultReason == null) {
            unknownByKey.remove(key);
        } else {
            unknownByKey.put(key, NONE);
        }
    }

    /** When the count of one who took everything at a time is whole again. */
    private static long recoveredAtMs(Policy policy, long lastMs) {
        long wholeMs = lastMs;
        for (Policy.Term term : policy.terms()) {
            wholeMs = Math.max(wholeMs, recoveredAtMs(term.limit(), lastMs));
        }
        return wholeMs;
    }

    private static <S> long recoveredAtMs(Limit<S> limit, long lastMs) {
        return LimitAccount.open(limit, lastMs).charge(limit.capacity(), lastMs).expiresAtMs(lastMs);
    }

    /**
     * Takes note of what was told.
     *
     * @param told the decision on limits, null if there is none
     * @param isCharged whether counts that are known are charged as they were
     */
    void observe(Request request, Collection<Policy> applicable, Decision told, boolean isCharged) {
        if (request.kind() == RequestKind.PEEK || (defaultReason == null && unknownByKey.isEmpty())) {
            return;
        }
        boolean isAllowed = told != null
                && told.outcome() == Outcome.ALLOWED
                && !told.observed()
                && !told.repeated()
                && request.kind() == RequestKind.CONSUME
                && request.cost() > 0;
        boolean mayBeRepeat = applicable.stream().anyMatch(policy -> policy.idempotencyMs() > 0);
        long lastMs = longestDelayMs
                + (told == null ? request.timestampMs() : Math.max(told.decidedAtMs(), request.timestampMs()));
        for (Policy policy : applicable) {
            if (policy.isShared()) {
                continue; // its count is nobody's here
            }
            StateKey key = policy.stateKey(request);
            UnknownCount doubt = of(key);
            if (doubt.why == null) {
                if (!isCharged) {
                    add(key, reasonOf(request, applicable));
                }
                continue;
            }
            boolean goesOn = doubt.version == policy.version()
                    && request.kind() != RequestKind.SETTLE
                    && policy.terms().stream().noneMatch(term -> term.limit().countDenied());
            boolean isProof = isAllowed && !mayBeRepeat;
            if (unknownByKey.size() < MAX_KEYS || unknownByKey.containsKey(key)) {
                unknownByKey.put(
                        key,
                        isProof || goesOn
                                ? new UnknownCount(doubt.why, policy.version(), Math.max(doubt.lastMs, lastMs))
                                : new UnknownCount(doubt.why, 0, 0));
            }
        }
    }

    private UnverifiedReason reasonOf(Request request, Collection<Policy> applicable) {
        return applicable.stream()
                .filter(policy -> !policy.isShared())
                .map(policy -> of(policy.stateKey(request)).why)
                .filter(why -> why != null)
                .findFirst()
                .orElse(UnverifiedReason.AMBIGUOUS_VERSION);
    }
}
