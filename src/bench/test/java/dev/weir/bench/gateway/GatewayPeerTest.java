package dev.weir.bench.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class GatewayPeerTest {

    private static final int CLIENTS = 3;

    private final Set<String> keys = ConcurrentHashMap.newKeySet();

    private GatewayPeer start(boolean isAllowing) throws Exception {
        return GatewayPeer.start(key -> {
            keys.add(key);
            return CompletableFuture.completedFuture(isAllowing);
        });
    }

    private void assertAllClientsAreDecided(GatewayCaller.Factory callers) throws Exception {
        keys.clear();
        CallerLoad load = new CallerLoad(callers, 2, CLIENTS);
        assertThat(load.perSecond(Duration.ofMillis(100))).isPositive();
        Histogram latencies = load.latencies(200, Duration.ofMillis(100));
        assertThat(latencies.getTotalCount()).isEqualTo(20);
        assertThat(keys).hasSize(CLIENTS);
    }

    @Test
    void callers_of_both_protocols_ask_about_all_clients() throws Exception {
        try (GatewayPeer peer = start(true)) {
            try (GrpcCallers callers = new GrpcCallers(peer.grpcPort(), 1, "leased", CLIENTS)) {
                assertAllClientsAreDecided(callers);
            }
            assertThat(keys).allMatch(key -> key.contains("leased") && key.contains("client-"));
            assertAllClientsAreDecided(new HttpCallers(peer.httpPort(), "/leased", CLIENTS));
            assertThat(keys).allMatch(key -> key.matches("client-[0-2]"));
        }
    }

    @Test
    void a_denied_call_ends_the_measurement() throws Exception {
        try (GatewayPeer peer = start(false)) {
            try (GrpcCallers callers = new GrpcCallers(peer.grpcPort(), 1, "leased", CLIENTS)) {
                CallerLoad load = new CallerLoad(callers, 2, CLIENTS);
                assertThatThrownBy(() -> load.perSecond(Duration.ofMillis(100)))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessage("a request was not allowed");
            }
            HttpCallers callers = new HttpCallers(peer.httpPort(), "/leased", CLIENTS);
            CallerLoad load = new CallerLoad(callers, 2, CLIENTS);
            assertThatThrownBy(() -> load.perSecond(Duration.ofMillis(100)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(" 429 ");
        }
    }
}
