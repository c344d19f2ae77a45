package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.release.LateReleases;
import dev.weir.client.release.ReleaseConsumer;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests on a real broker how workers handle the releases of a queue after an outage of all of them. */
@Tag("full")
class LateReleasesTest {

    private static final int RELEASES = 60;
    private static final int PER_SECOND = 5;

    /** How far ahead the estimate of the broker's time can move. */
    private static final long SLACK_NANOS = TimeUnit.SECONDS.toNanos(2);

    private static final String POLICIES = """
            policies:
              - {id: sms, queue: sms}
            queues:
              - {id: sms, limit: 5, per: 1s}
            """;

    @TempDir
    static Path directory;

    private LiveWeir up;

    @Test
    void after_an_outage_of_12_s_a_queue_of_5_a_second_is_handled_at_its_pace() throws Exception {
        up = LiveWeir.create(TestBroker.shared(), directory, "overdue.", POLICIES);
        try (Enforcer enforcer = up.enforce();
                WeirClient weir = up.client().start();
                ReleaseConsumer seen = new ReleaseConsumer(
                        up.group("seen"), up.config().topics().prefix() + "releases")) {
            for (int i = 0; i < RELEASES; i++) {
                weir.decide(RequestBuilder.of("client" + i % 5)
                                .requestId("r" + i)
                                .build())
                        .get(5, TimeUnit.MINUTES);
            }
            for (int left = RELEASES; left > 0; ) {
                left -= seen.next(Duration.ofSeconds(1)).isPresent() ? 1 : 0;
            }
            assertThat(enforcer.isRunningWithin(LiveWeir.PATIENCE)).isTrue();
        }

        List<Long> atPace = new CopyOnWriteArrayList<>();
        long startNanos = System.nanoTime();
        try (ReleaseWorker worker = worker("pace", LateReleases.PACE, atPace)) {
            await("releases are handled", LiveWeir.PATIENCE, () -> atPace.size() >= 12);
            assertThat(worker.failure()).isEmpty();
        }
        for (int i = 0; i < atPace.size(); i++) {
            long nanos = atPace.get(i) - startNanos + SLACK_NANOS;
            assertThat(i * 1_000_000_000L / PER_SECOND).isLessThanOrEqualTo(nanos);
        }

        List<Long> atOnce = new CopyOnWriteArrayList<>();
        try (ReleaseWorker worker = worker("once", LateReleases.AT_ONCE, atOnce)) {
            await("all releases are handled", LiveWeir.PATIENCE, () -> atOnce.size() == RELEASES);
            assertThat(worker.stats().attempts().handled()).isLessThanOrEqualTo(RELEASES);
        }
    }

    private ReleaseWorker worker(String group, LateReleases late, List<Long> starts) {
        return ReleaseWorker.builder(up.group(group), task -> starts.add(System.nanoTime()))
                .prefix(up.config().topics().prefix())
                .late(late)
                .start();
    }
}
