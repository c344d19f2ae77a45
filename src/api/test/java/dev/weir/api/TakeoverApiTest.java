package dev.weir.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.config.WeirConfig;
import dev.weir.takeover.Announcement;
import dev.weir.takeover.PeerActivity;
import dev.weir.takeover.PeerGroups;
import dev.weir.takeover.TakeoverSource;
import dev.weir.testing.TestBroker;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
class TakeoverApiTest {

    private static final Announcement FIRST = announcement("m1");
    private static final Announcement SECOND = announcement("m2");

    /** What the instances would do at the brokers, which they must not. */
    private static final class NoGroups implements PeerGroups {
        @Override
        public Optional<PeerActivity> activity(Announcement of) {
            throw new AssertionError("nobody has died");
        }

        @Override
        public void remove(Announcement dead, Evidence evidence) {
            throw new AssertionError("nobody has died");
        }
    }

    private final AtomicReference<Announcement> announced = new AtomicReference<>(FIRST);
    private WeirService service;
    private Caller peer;

    @BeforeEach
    void start(@TempDir Path directory) throws IOException {
        WeirConfig config = WeirConfig.builder()
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory)
                .build();
        service = WeirService.open(
                config.toBuilder()
                        .service(WeirConfig.DEFAULTS.service().withPort(0))
                        .build(),
                Map.of());
        peer = Caller.of(service.port(), null);
    }

    @AfterEach
    void stop() {
        service.close();
    }

    private void startTakeover() {
        service.startTakeover(
                new TakeoverSource("own", announced::get, Set::of, new NoGroups(), Duration.ofSeconds(2)));
    }

    private static Announcement announcement(String memberId) {
        return new Announcement("own", List.of(new Announcement.Member("weir", "own-1", memberId)), List.of());
    }

    /** Returns the answer to another instance that knows an announcement. */
    private String ask(String known) throws IOException {
        String version = known.isEmpty() ? "" : "&known=" + Integer.toHexString(known.hashCode());
        Reply reply = peer.get("/v1/live/announcement?from=peer" + version);
        assertThat(reply.status()).as(reply.text()).isEqualTo(200);
        return reply.text();
    }

    @Test
    void others_are_answered_at_once_after_changes_and_after_a_while() throws IOException {
        assertThat(peer.get("/v1/live/announcement").detail()).startsWith("the enforcer is starting");
        startTakeover();
        assertThat(ask("")).isEqualTo(FIRST.json());
        assertThat(ask(FIRST.json())).as("nothing has changed").isEqualTo(FIRST.json());
        announced.set(SECOND);
        assertThat(ask(FIRST.json())).isEqualTo(SECOND.json());
    }

    @Test
    void an_instance_that_stops_waits_until_the_others_know() throws Exception {
        startTakeover();
        String known = ask("");
        CompletableFuture<Void> closed = CompletableFuture.runAsync(service::close);
        assertThatThrownBy(() -> closed.get(100, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
        assertThat(ask(known)).isEqualTo(FIRST.leaving().json());
    }
}
