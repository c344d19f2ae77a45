package dev.weir.client.lease;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import dev.weir.event.Request;
import dev.weir.lease.LeaseTerms;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LeasedDecisionsTest {

    private static final long PATIENCE_NANOS = Duration.ofSeconds(30).toNanos();
    private static final LeaseSettings.Topics TOPICS =
            new LeaseSettings.Topics("policies", "requests", "responses", "usage", "replies");
    private static final Request REQUEST = RequestBuilder.of("alice").build();

    /** Returns decisions that this thread has used and that are closed, and their policies. */
    private static List<WeakReference<?>> used() {
        Map<String, Object> kafka = Map.of("bootstrap.servers", "127.0.0.1:1");
        LeasedDecisions decisions = new LeasedDecisions(
                new LeaseSettings(TOPICS, kafka, kafka, LeaseTerms.DEFAULTS, Duration.ofSeconds(1), true),
                Optional.empty());
        assertThat(decisions.tryDecide(REQUEST)).isEmpty();
        decisions.discard();
        return List.of(new WeakReference<>(decisions), new WeakReference<>(decisions.policies()));
    }

    @Test
    void a_thread_that_has_used_them_keeps_neither_them_nor_their_policies_reachable() {
        List<WeakReference<?>> all = used();
        long startNanos = System.nanoTime();
        while (all.stream().anyMatch(one -> one.get() != null) && System.nanoTime() - startNanos < PATIENCE_NANOS) {
            System.gc();
        }
        assertThat(all).allSatisfy(one -> assertThat(one.get()).isNull());
    }
}
