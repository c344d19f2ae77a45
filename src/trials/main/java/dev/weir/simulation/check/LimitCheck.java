package dev.weir.simulation.check;

import static dev.weir.simulation.schedule.Violation.Promise.WITHIN_LIMITS;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.simulation.schedule.SchedulePolicies;
import dev.weir.simulation.schedule.Violation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The check of limits. It adds up the admitted cost of each client, and compares each interval that ends with the last
 * admission with the limits: the highest ones, if the limits changed.
 */
final class LimitCheck {

    private record Admitted(long atMs, long cost) {}

    private final SchedulePolicies schedulePolicies;
    private final Map<String, List<Admitted>> byClient = new HashMap<>();
    private final Map<Request.Source, Long> costs = new HashMap<>();

    LimitCheck(SchedulePolicies schedulePolicies) {
        this.schedulePolicies = schedulePolicies;
    }

    /** Records the cost of a request that charges limits. */
    void requested(Request request) {
        costs.put(request.source(), request.cost());
    }

    /** @param isShared whether shared limits apply; then the other charges have an unknown time and are not checked */
    void decided(Decision decision, boolean isShared) {
        Long cost = costs.remove(decision.source());
        if (cost == null || decision.outcome() != Outcome.ALLOWED || decision.repeated()) {
            return;
        }
        long delayMs = decision.delayMs() == null ? 0 : decision.delayMs();
        List<Admitted> admitted = byClient.computeIfAbsent(decision.client(), client -> new ArrayList<>());
        if (decision.reason() != Reason.NO_POLICY && cost > 0 && !isShared) {
            admitted.add(new Admitted(decision.decidedAtMs() + delayMs, cost));
            check(decision.client(), admitted);
        }
    }

    private void check(String client, List<Admitted> admitted) {
        String tier = client.substring(0, client.length() - 1);
        switch (tier) {
            case "log" -> requireWindow(client, admitted, 500, schedulePolicies.mostLimit(tier));
            case "fixed" -> requireAligned(client, admitted, 400, schedulePolicies.mostLimit(tier));
            case "bucket" -> requireRate(client, admitted, schedulePolicies.mostLimit(tier), 4);
            case "gcra" -> requireRate(client, admitted, schedulePolicies.mostLimit(tier), 2);
            default -> {}
        }
        if (List.of("log", "fixed", "bucket", "gcra").contains(tier)) {
            requireWindow(client, admitted, 2_000, schedulePolicies.mostLimit("all"));
        }
    }

    private static void requireWindow(String client, List<Admitted> admitted, long windowMs, long limit) {
        long nowMs = last(admitted).atMs;
        require(client, admitted, limit, sum(admitted, nowMs - windowMs + 1));
    }

    private static void requireAligned(String client, List<Admitted> admitted, long windowMs, long limit) {
        long nowMs = last(admitted).atMs;
        require(client, admitted, limit, sum(admitted, Math.floorDiv(nowMs, windowMs) * windowMs));
    }

    /** Checks that over every interval of T ms, the cost is at most burst + T · limit / 1 s. */
    private static void requireRate(String client, List<Admitted> admitted, long limit, long burst) {
        long nowMs = last(admitted).atMs;
        for (Admitted from : admitted) {
            require(client, admitted, burst + (nowMs - from.atMs) * limit / 1_000, sum(admitted, from.atMs));
        }
    }

    private static long sum(List<Admitted> admitted, long fromMs) {
        long sum = 0;
        for (Admitted one : admitted) {
            sum += one.atMs >= fromMs ? one.cost : 0;
        }
        return sum;
    }

    private static Admitted last(List<Admitted> admitted) {
        return admitted.get(admitted.size() - 1);
    }

    private static void require(String client, List<Admitted> admitted, long most, long sum) {
        if (sum > most) {
            throw new Violation(WITHIN_LIMITS, client + " was admitted " + sum + " of " + most + ": " + admitted);
        }
    }
}
