package dev.weir.client.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class ClientConnectorTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void creating_kafkas_clients_is_repeated_while_no_host_is_known() throws InterruptedException {
        AtomicInteger attempts = new AtomicInteger();
        CompletableFuture<Void> resolved = new CompletableFuture<>();
        ClientConnector connector = new ClientConnector(
                () -> {
                    if (attempts.incrementAndGet() > 1) {
                        resolved.complete(null);
                    }
                    throw new KafkaException(
                            "Failed to construct kafka producer",
                            new ConfigException("No resolvable bootstrap urls given in bootstrap.servers"));
                },
                connection -> true);
        connector.start();
        try (connector) {
            assertThat(resolved).succeedsWithin(PATIENCE);
        }
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("weir-client-start")) {
                thread.join(PATIENCE.toMillis()); // close() does not wait for the last steps of a thread
                assertThat(thread.isAlive()).isFalse();
            }
        }
    }
}
