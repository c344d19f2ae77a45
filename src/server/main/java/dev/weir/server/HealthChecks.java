package dev.weir.server;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.server.http.BodyFormat;
import dev.weir.server.http.ProblemDetails;
import io.javalin.http.Context;
import java.util.List;
import java.util.function.Supplier;

/** The liveness and readiness probes. They need no token and accept any {@code Host}. */
public final class HealthChecks {

    private final Supplier<HealthReport> health;

    public HealthChecks(Supplier<HealthReport> health) {
        this.health = health;
    }

    /**
     * Responds with 200 unless the instance has failed. Rebalances, restores and unreachable brokers are no reason to
     * restart an instance.
     */
    public void live(Context request) {
        HealthReport report = health.get();
        answer(request, report, report.isLive(), List.of());
    }

    /** Responds with 200 if the instance can serve requests. */
    public void ready(Context request) {
        HealthReport report = health.get();
        answer(request, report, report.isReady(), report.missing());
    }

    private static void answer(Context request, HealthReport report, boolean isGood, List<String> missing) {
        if (!isGood) {
            throw ProblemDetails.unavailable(report.description(), missing).exception();
        }
        ObjectNode body = JsonNodeFactory.instance.objectNode().put("status", report.status());
        if (!missing.isEmpty()) {
            missing.forEach(body.putArray("missing")::add);
        }
        request.status(200).contentType(BodyFormat.JSON.contentType()).result(body.toString());
    }
}
