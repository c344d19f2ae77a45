package dev.weir.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

import dev.weir.config.WeirConfig;
import dev.weir.testing.TestBroker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("full")
class BootstrapCheckTest {

    private static WeirConfig config(String brokers) {
        return WeirConfig.DEFAULTS.withKafka("bootstrap.servers", brokers);
    }

    @Test
    void a_slow_broker_is_waited_for() throws IOException {
        try (SlowBroker slow = new SlowBroker()) {
            List<String> connecting = new ArrayList<>();
            BootstrapCheck.require(config(slow.address() + ",127.0.0.1:1"), addresses -> {
                connecting.add(addresses);
                slow.respond();
            });
            assertThat(connecting).containsExactly(slow.address());
        }
    }

    @Test
    void the_configuration_can_set_the_limit() throws IOException {
        try (SlowBroker slow = new SlowBroker()) {
            WeirConfig config = config(slow.address()).withKafka("default.api.timeout.ms", "1000");
            assertThatExceptionOfType(UnreachableException.class)
                    .isThrownBy(() -> BootstrapCheck.require(config, BootstrapCheckTest::fail))
                    .withMessageContaining("no response within 1s");
        }
    }

    @Test
    void an_outage_of_slow_brokers_is_reported_when_a_command_would_give_up() throws IOException {
        try (SlowBroker slow = new SlowBroker()) {
            WeirConfig config = config(slow.address()).withKafka("default.api.timeout.ms", "1000");
            assertThat(BootstrapCheck.outage(config)).get().asString().contains("no response within 1s");
        }
        assertThat(BootstrapCheck.outage(config("127.0.0.1:1")))
                .get()
                .asString()
                .contains("connection refused");
        assertThat(BootstrapCheck.outage(config(TestBroker.shared().bootstrapServers())))
                .isEmpty();
    }

    @Test
    void a_refused_connection_is_not_waited_for() {
        assertThatExceptionOfType(UnreachableException.class)
                .isThrownBy(() -> BootstrapCheck.require(config("127.0.0.1:1"), BootstrapCheckTest::fail))
                .withMessageContaining("connection refused");
    }

    @Test
    void one_responding_address_is_enough() {
        String both = "127.0.0.1:1," + TestBroker.shared().bootstrapServers();
        assertThatNoException().isThrownBy(() -> BootstrapCheck.require(config(both), BootstrapCheckTest::fail));
    }

    private static void fail(String waiting) {
        throw new AssertionError(waiting);
    }

    /** An address in front of the test's broker that accepts connections, but passes data only after {@link #respond}. */
    private static final class SlowBroker implements AutoCloseable {
        private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final CountDownLatch responds = new CountDownLatch(1);

        SlowBroker() throws IOException {
            daemon(this::accept);
        }

        String address() {
            return "127.0.0.1:" + server.getLocalPort();
        }

        void respond() {
            responds.countDown();
        }

        private void accept() {
            try {
                while (true) {
                    Socket client = server.accept();
                    daemon(() -> connect(client));
                }
            } catch (IOException e) { // closed
                respond();
            }
        }

        private void connect(Socket client) {
            String[] address = TestBroker.shared().bootstrapServers().split(":");
            try (client) {
                responds.await();
                try (Socket broker = new Socket(address[0], Integer.parseInt(address[1]))) {
                    daemon(() -> copy(broker, client));
                    copy(client, broker);
                }
            } catch (IOException e) {
                // The other side has closed the connection.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private static void copy(Socket from, Socket to) {
            try {
                from.getInputStream().transferTo(to.getOutputStream());
                to.shutdownOutput();
            } catch (IOException e) {
                // The connection is closed.
            }
        }

        private static void daemon(Runnable task) {
            Thread thread = new Thread(task, "slow-broker");
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void close() {
            try {
                server.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
