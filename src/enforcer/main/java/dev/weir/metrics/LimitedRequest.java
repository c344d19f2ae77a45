package dev.weir.metrics;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import java.util.Comparator;

/**
 * Who was limited, and by what.
 *
 * @param policy the policy of the binding limit; {@link EnforcerMetrics#NONE} if the decision names none
 * @param reason the reason of the decision
 */
public record LimitedRequest(String client, String policy, Reason reason) implements Comparable<LimitedRequest> {

    private static final Comparator<LimitedRequest> ORDER = Comparator.comparing(LimitedRequest::client)
            .thenComparing(LimitedRequest::policy)
            .thenComparing(LimitedRequest::reason);

    /**
     * Returns whether a decision limits its request: it denies it, delays it, or ends its wait without a release. To
     * cancel a request does not limit it, nor does a reset that names a policy that does not apply, the renewal of a
     * reservation that has ended, or what a worker reports.
     */
    public static boolean isLimited(Decision decision) {
        return switch (decision.reason()) {
            case CANCELLED, NOT_WAITING, POLICY_NOT_APPLICABLE, RESERVATION_ENDED, STALE_ATTEMPT, IN_FLIGHT, FAILED ->
                false;
            case THROTTLED -> true;
            default -> decision.outcome() == Outcome.DENIED || decision.outcome() == Outcome.EXPIRED;
        };
    }

    @Override
    public int compareTo(LimitedRequest other) {
        return ORDER.compare(this, other);
    }
}
