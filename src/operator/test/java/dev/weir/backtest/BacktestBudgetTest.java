package dev.weir.backtest;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** An endless sequence of requests, and the bounds that end a backtest. */
class BacktestBudgetTest {

    private static final Duration LONG = Duration.ofHours(1);

    private final AtomicInteger number = new AtomicInteger();

    private void decide(String rules, BacktestBudget budget) throws Exception {
        PolicyFile.Contents contents = contents(rules);
        new Backtest(contents.table(), contents.queueRules(), WeirConfig.DEFAULTS, budget).run(this::next, null, null);
    }

    private static PolicyFile.Contents contents(String rules) throws FaultsException {
        return PolicyFile.read("rules.yaml", rules);
    }

    private Request next() {
        int n = number.incrementAndGet();
        return Request.builder("r" + n, "client-" + n)
                .timestampMs(1_000)
                .source(0, n)
                .build();
    }

    @Test
    void ends_when_the_caller_has_disconnected() {
        BacktestBudget budget = new BacktestBudget(LONG, () -> number.get() < 10, Long.MAX_VALUE);
        assertThatThrownBy(() -> decide("policies: [{id: p, limits: [{limit: 1, per: 1s, algorithm: gcra}]}]", budget))
                .isInstanceOf(CancellationException.class);
    }

    @Test
    void ends_at_the_timeout() {
        BacktestBudget budget = new BacktestBudget(Duration.ofMillis(50), () -> true, Long.MAX_VALUE);
        assertThatThrownBy(() -> decide("policies: [{id: p, limits: [{limit: 1, per: 1s, algorithm: gcra}]}]", budget))
                .isInstanceOf(ResultTooLargeException.class)
                .hasMessageContaining("service.backtest-timeout");
    }

    @Test
    void ends_when_states_exceed_the_memory() {
        BacktestBudget budget = new BacktestBudget(LONG, () -> true, 1 << 20);
        assertThatThrownBy(() -> decide("policies: [{id: p, limits: [{limit: 1, per: 1s, algorithm: gcra}]}]", budget))
                .isInstanceOf(ResultTooLargeException.class)
                .hasMessageContaining("memory");
    }

    @Test
    void ends_when_keys_of_a_queue_exceed_the_memory() {
        BacktestBudget budget = new BacktestBudget(LONG, () -> true, 1 << 20);
        assertThatThrownBy(() -> decide("""
                        policies: [{id: p, queue: q}]
                        queues: [{id: q, key: [client], limit: 1, per: 1s}]
                        """, budget))
                .isInstanceOf(ResultTooLargeException.class)
                .hasMessageContaining("memory");
    }

    @Test
    void ends_while_a_queue_drains() {
        BacktestBudget budget = new BacktestBudget(LONG, () -> number.get() <= 10_000, Long.MAX_VALUE);
        assertThatThrownBy(() -> {
                    PolicyFile.Contents contents = contents("""
                            policies: [{id: p, queue: q}]
                            queues: [{id: q, limit: 1, per: 1s, capacity: 1000000, max-wait: 1000d}]
                            """);
                    new Backtest(contents.table(), contents.queueRules(), WeirConfig.DEFAULTS, budget)
                            .run(() -> number.get() < 1_000_000 ? next() : null, null, null);
                })
                .isInstanceOf(CancellationException.class);
    }
}
