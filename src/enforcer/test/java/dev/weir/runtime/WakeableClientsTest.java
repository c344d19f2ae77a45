package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.pacing.CommitPacing;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class WakeableClientsTest {

    private static final TopicPartition PARTITION = new TopicPartition("t", 0);

    @Test
    void a_woken_consumer_returns_nothing_and_continues() throws Exception {
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            WakeableClients clients = new WakeableClients(new CommitPacing(WeirConfig.DEFAULTS.commits()));
            try (Consumer<byte[], byte[]> consumer =
                    clients.getConsumer(Map.of("bootstrap.servers", broker.bootstrapServers(), "group.id", "g"))) {
                consumer.assign(List.of(PARTITION));
                clients.wake(); // no consumer is polling
                CompletableFuture<Boolean> empty = CompletableFuture.supplyAsync(
                        () -> consumer.poll(Duration.ofHours(1)).isEmpty());
                while (!empty.isDone()) {
                    clients.wake();
                }
                assertThat(empty.get(1, TimeUnit.MINUTES)).isTrue();
                assertThat(consumer.committed(Set.of(PARTITION))).containsEntry(PARTITION, null);
                assertThat(consumer.poll(Duration.ZERO)).isEmpty();
            }
        }
    }
}
