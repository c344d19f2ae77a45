package dev.weir.failure.check;

import dev.weir.audit.finding.UnverifiedReason;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/** The share of the requests of a run that {@code weir audit} can judge. */
final class VerifiableShare {

    static final double LEAST = 0.99;

    /** Reasons that count something other than requests, or requests that are judged. */
    private static final Set<UnverifiedReason> NOT_OF_REQUESTS = EnumSet.of(
            UnverifiedReason.LIMIT_CHANGED,
            UnverifiedReason.TIME_UNKNOWN,
            UnverifiedReason.TOO_MANY_TO_SUM,
            UnverifiedReason.WAITS,
            UnverifiedReason.RELEASE_UNMATCHED);

    private VerifiableShare() {}

    static double of(long requests, Map<UnverifiedReason, Long> unjudged) {
        long not = unjudged.entrySet().stream()
                .filter(why -> !NOT_OF_REQUESTS.contains(why.getKey()))
                .mapToLong(Map.Entry::getValue)
                .sum();
        return requests == 0 ? 1 : 1 - (double) not / requests;
    }
}
