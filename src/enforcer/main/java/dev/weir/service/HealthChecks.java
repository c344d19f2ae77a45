package dev.weir.service;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.weir.runtime.Health;
import dev.weir.service.http.BodyFormat;
import dev.weir.service.http.ProblemDetails;
import io.javalin.http.Context;
import java.util.function.Supplier;

/** The liveness and readiness probes. They need no token and accept any {@code Host}. */
final class HealthChecks {

    private final Supplier<Health> health;

    HealthChecks(Supplier<Health> health) {
        this.health = health;
    }

    /**
     * Responds with 200 unless the instance has failed. Rebalances, restores and unreachable brokers are no reason to
     * restart an instance.
     */
    void live(Context request) {
        answer(request, health.get() != Health.FAILED);
    }

    void ready(Context request) {
        answer(request, health.get() == Health.RUNNING);
    }

    private void answer(Context request, boolean isGood) {
        if (!isGood) {
            throw ProblemDetails.unavailable(health.get().description()).exception();
        }
        request.status(200)
                .contentType(BodyFormat.JSON.contentType())
                .result(JsonNodeFactory.instance
                        .objectNode()
                        .put("status", health.get().name())
                        .toString());
    }
}
