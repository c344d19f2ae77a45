package dev.weir.gateway.envoy;

import dev.weir.gateway.envoy.mapping.RequestAnswer;
import dev.weir.gateway.envoy.proto.RateLimitResponse;
import io.grpc.Status;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongConsumer;

/** The counters of a rate limit service. Thread-safe. */
final class EnvoyCounters {

    private final LongAdder ok = new LongAdder();
    private final LongAdder overLimit = new LongAdder();
    private final LongAdder fallbacks = new LongAdder();
    private final LongAdder shed = new LongAdder();
    private final LongAdder invalid = new LongAdder();
    private final LongAdder exhausted = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder cancelled = new LongAdder();
    private final LongConsumer durationsNanos;
    final LongAdder incomplete = new LongAdder();
    final LongAdder untrusted = new LongAdder();
    final LongAdder resets = new LongAdder();
    final AtomicInteger inProgress = new AtomicInteger();

    /** @param durationsNanos receives the time from each call to its response */
    EnvoyCounters(LongConsumer durationsNanos) {
        this.durationsNanos = durationsNanos;
    }

    void responded(RateLimitResponse.Code code, List<RequestAnswer> answers, long nanos) {
        durationsNanos.accept(nanos);
        (code == RateLimitResponse.Code.OK ? ok : overLimit).increment();
        for (RequestAnswer answer : answers) {
            answer.fallback().ifPresent(why -> {
                boolean isShed = why.isOverload() && !answer.decision().allowed();
                (isShed ? shed : fallbacks).increment();
            });
        }
    }

    void failed(Status status) {
        switch (status.getCode()) {
            case INVALID_ARGUMENT -> invalid.increment();
            case RESOURCE_EXHAUSTED -> exhausted.increment();
            default -> failed.increment();
        }
    }

    void cancelled() {
        cancelled.increment();
    }

    EnvoyStats stats() {
        return new EnvoyStats(
                ok.sum(),
                overLimit.sum(),
                new EnvoyStats.Undecided(fallbacks.sum(), shed.sum()),
                new EnvoyStats.Errors(invalid.sum(), exhausted.sum(), incomplete.sum(), failed.sum(), cancelled.sum()),
                inProgress.get());
    }
}
