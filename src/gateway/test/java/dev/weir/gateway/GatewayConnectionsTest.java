package dev.weir.gateway;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.weir.api.Caller;
import dev.weir.config.WeirConfig;
import dev.weir.server.http.ConnectionGuard;
import dev.weir.server.http.ConnectionGuard.Share;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How many connections the ports of a gateway accept, and from which addresses. */
class GatewayConnectionsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int MANY = 300;

    private final List<Socket> sockets = new ArrayList<>();

    @AfterEach
    void close() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    private static GatewayConfig config(String gateway) throws Exception {
        return GatewayFile.read("gateway.yaml", "gateway: " + gateway).gateway();
    }

    private void connectSilently(int port) throws IOException {
        Socket socket = new Socket();
        sockets.add(socket);
        socket.bind(new InetSocketAddress("127.0.0.2", 0));
        socket.connect(new InetSocketAddress("127.0.0.1", port));
    }

    private void assumeManyLoopbackAddresses() {
        boolean hasMany = true;
        try (Socket socket = new Socket()) {
            socket.bind(new InetSocketAddress("127.0.0.2", 0));
        } catch (IOException e) {
            hasMany = false;
        }
        assumeTrue(hasMany, "the system has no address 127.0.0.2");
    }

    @Test
    void silent_connections_of_an_untrusted_address_stop_nothing() throws Exception {
        assumeManyLoopbackAddresses();
        GatewayConfig config = config("{http-port: 0, trusted-proxies: [127.0.0.1]}");
        WeirConfig away = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", "127.0.0.1:1");
        try (Gateway gateway = Gateway.open(away, config, Map.of())) {
            for (int i = 0; i < MANY; i++) {
                connectSilently(gateway.grpcPort());
                connectSilently(gateway.httpPort());
            }
            Caller caller = Caller.unchecked(gateway.httpPort());
            assertThat(caller.get("/health/live").status()).isEqualTo(200);
            assertThat(caller.get("/v1/authorize/a", "X-Api-Key: k").status()).isEqualTo(200);
            await("the connections are closed", PATIENCE, () -> {
                String metrics = caller.get("/metrics").text();
                return metrics.contains("weir_envoy_connections_refused_total{reason=\"UNTRUSTED\"} " + MANY + ".0")
                        && metrics.contains("weir_service_connections_refused_total{reason=\"TOO_MANY\"} "
                                + (MANY - ConnectionGuard.MAX_INCOMPLETE) + ".0");
            });
            assertThat(caller.get("/metrics").text()).contains("weir_envoy_connections 0.0");
        }
    }

    @Test
    void trusted_proxies_have_the_large_share() throws Exception {
        GatewayConfig config = config("{max-connections: 1000, trusted-proxies: [10.0.0.0/8], envoy: {"
                + "max-connections: 300, max-connections-per-address: 200}}");
        InetAddress proxy = InetAddress.getByName("10.1.2.3");
        InetAddress other = InetAddress.getByName("192.0.2.1");
        ConnectionGuard.Bounds http = ConnectionShares.ofHttp(config, TIMEOUT);
        assertThat(http.max()).isEqualTo(1_000);
        assertThat(http.shares().apply(proxy)).isEqualTo(new Share(1_000, 1_000));
        assertThat(http.shares().apply(other)).isEqualTo(new Share(64, 250));
        ConnectionGuard.Bounds grpc = ConnectionShares.ofGrpc(config, TIMEOUT);
        assertThat(grpc.max()).isEqualTo(300);
        assertThat(grpc.shares().apply(proxy)).isEqualTo(new Share(200, 200));
        assertThat(grpc.shares().apply(other)).isEqualTo(new Share(64, 200));
    }

    @Test
    void connections_leave_descriptors_for_the_rest_of_the_process() throws Exception {
        GatewayConfig config = config("{max-connections: 4096}");
        assertThat(DescriptorShare.fit(config, 1 << 20)).isEqualTo(config);
        GatewayConfig fitted = DescriptorShare.fit(config, 3_000);
        assertThat(fitted.maxConnections()).isEqualTo(1_808);
        assertThat(fitted.envoy().connections().maxConnections()).isEqualTo(441);
        assertThat(DescriptorShare.fit(config, 8).maxConnections()).isEqualTo(16);
    }
}
