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
 * The counts that are unknown, and why. A count is known again when it has certainly expired. That is so if the client
 * was allowed something, so that it was not in debt, and has paused since then for as long as its limits need to
 * recover from full usage.
 *
 * <pre>
 *   unknown ──▶ allowed at t by version v ──▶ next request at t' ≥ t + longest delay + recovery time of v ──▶ known
 *        ▲              │ another version, a SETTLE, a counted denial
 *        └──────────────┘
 * </pre>
 */
final class UnknownState {

    /** The maximum number of keys that are tracked individually. Beyond that, all counts are unknown. */
    private static final int MAX_KEYS = 1_000_000;

    private static final UnknownCount NONE = new UnknownCount(null, 0, 0);

    /**
     * The state of an unknown count.
     *
     * @param version the version by which the client was allowed something since the count became unknown; 0 if there
     *     is none
     * @param lastMs the time until which the client may have used something since then
     */
    private record UnknownCount(UnverifiedReason reason, long version, long lastMs) {}

    private final Map<StateKey, UnknownCount> unknownByKey = new HashMap<>();
    private final Consumer<StateKey> resetState;
    private final long longestDelayMs;
    private UnverifiedReason defaultReason;

    /**
     * Creates the state at the beginning of the log.
     *
     * @param ofAll why all counts are unknown at the beginning; null if they are known
     * @param fresh receives the key of each count that has expired
     */
    UnknownState(UnverifiedReason ofAll, long longestDelayMs, Consumer<StateKey> fresh) {
        defaultReason = ofAll;
        this.longestDelayMs = longestDelayMs;
        this.resetState = fresh;
    }

    /** Marks a count as unknown from here on. */
    void add(StateKey key, UnverifiedReason reason) {
        if (defaultReason == null && unknownByKey.size() >= MAX_KEYS) {
            defaultReason = reason;
            unknownByKey.clear();
        }
        if (defaultReason == null || unknownByKey.size() < MAX_KEYS || unknownByKey.containsKey(key)) {
            unknownByKey.put(key, new UnknownCount(reason, 0, 0));
        }
    }

    /** Marks all counts as unknown from here on. */
    void addAll(UnverifiedReason reason) {
        defaultReason = defaultReason == null ? reason : defaultReason;
        unknownByKey.clear();
    }

    /** Returns why a decision by these policies cannot be verified; null if it can. */
    UnverifiedReason unverifiedReason(Request request, Collection<Policy> applicable) {
        if (defaultReason == null && unknownByKey.isEmpty()) {
            return null;
        }
        UnverifiedReason about = null;
        for (Policy policy : applicable) {
            StateKey key = policy.stateKey(request);
            UnknownCount doubt = policy.isShared() ? NONE : of(key);
            boolean isOver = doubt.reason != null
                    && doubt.version == policy.version()
                    && request.timestampMs() >= recoveredAtMs(policy, doubt.lastMs);
            if (isOver) {
                resetState.accept(key);
                markKnown(key);
            } else if (doubt.reason != null) {
                about = doubt.reason;
            }
            if (policy.idempotencyMs() > 0 && defaultReason != null) {
                about = defaultReason; // the request may be a repeat of an earlier one
            }
        }
        return about;
    }

    /** Returns why a count is unknown; null if it is known. */
    UnverifiedReason unverifiedReason(StateKey key) {
        return of(key).reason;
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

    /** Returns when the limits of a policy have recovered from full usage at a time. */
    private static long recoveredAtMs(Policy policy, long lastMs) {
        long wholeMs = lastMs;
        for (Policy.Term term : policy.terms()) {
            wholeMs = Math.max(wholeMs, recoveredAtMs(term, term.limit(), lastMs));
        }
        return wholeMs;
    }

    private static <S> long recoveredAtMs(Policy.Term term, Limit<S> limit, long lastMs) {
        long mostUsed = term.allowsOverride() ? limit.maxUsed() : limit.capacity(); // a request may have had any limit
        return LimitAccount.open(limit, lastMs).charge(mostUsed, lastMs).expiresAtMs(lastMs);
    }

    /**
     * Updates the counts after a decision.
     *
     * @param recorded the recorded decision on limits; null if there is none
     * @param isCharged whether the recomputed state was charged as recorded
     */
    void observe(Request request, Collection<Policy> applicable, Decision recorded, boolean isCharged) {
        if (request.kind() == RequestKind.PEEK || (defaultReason == null && unknownByKey.isEmpty())) {
            return;
        }
        boolean isAllowed = recorded != null
                && recorded.outcome() == Outcome.ALLOWED
                && !recorded.observed()
                && !recorded.repeated()
                && request.kind() == RequestKind.CONSUME
                && request.cost() > 0;
        boolean mayBeRepeat = applicable.stream().anyMatch(policy -> policy.idempotencyMs() > 0);
        long lastMs = longestDelayMs
                + (recorded == null ? request.timestampMs() : Math.max(recorded.decidedAtMs(), request.timestampMs()));
        for (Policy policy : applicable) {
            if (policy.isShared()) {
                continue; // shared counts are audited by their sums
            }
            StateKey key = policy.stateKey(request);
            UnknownCount doubt = of(key);
            if (doubt.reason == null) {
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
                                ? new UnknownCount(doubt.reason, policy.version(), Math.max(doubt.lastMs, lastMs))
                                : new UnknownCount(doubt.reason, 0, 0));
            }
        }
    }

    private UnverifiedReason reasonOf(Request request, Collection<Policy> applicable) {
        return applicable.stream()
                .filter(policy -> !policy.isShared())
                .map(policy -> of(policy.stateKey(request)).reason)
                .filter(reason -> reason != null)
                .findFirst()
                .orElse(UnverifiedReason.AMBIGUOUS_VERSION);
    }
}
