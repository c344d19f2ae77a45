package dev.weir.service;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.weir.runtime.Health;
import dev.weir.service.http.BodyFormat;
import dev.weir.service.http.ProblemDetails;
import io.javalin.http.Context;
import java.util.function.Supplier;

/**
 * What a supervisor asks, without a token and by whatever name: whether to restart this instance, and whether it works.
 */
final class HealthChecks {

    private final Supplier<Health> health;

    HealthChecks(Supplier<Health> health) {
        this.health = health;
    }

    /** A rebalance, a restore and brokers that are away are no reason to start anew. */
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
