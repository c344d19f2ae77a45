package dev.weir.runtime;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.pacing.CommitPacing;
import dev.weir.testing.TestBroker;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class WakeableClientsTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
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

    @Test
    void the_lag_and_the_last_poll_are_those_of_open_main_consumers() throws Exception {
        EmbeddedBroker broker = TestBroker.shared();
        Map<String, Object> kafka = Map.of("bootstrap.servers", broker.bootstrapServers());
        TopicPartition lagging = new TopicPartition("lagging", 0);
        try (Admin admin = Admin.create(kafka);
                Producer<byte[], byte[]> producer =
                        new KafkaProducer<>(kafka, new ByteArraySerializer(), new ByteArraySerializer())) {
            admin.createTopics(List.of(new NewTopic(lagging.topic(), 1, (short) 1)))
                    .all()
                    .get();
            for (int i = 0; i < 3; i++) {
                producer.send(new ProducerRecord<>(lagging.topic(), new byte[1]))
                        .get();
            }
        }
        WakeableClients clients = new WakeableClients(new CommitPacing(WeirConfig.DEFAULTS.commits()));
        Map<String, Object> settings = new HashMap<>(kafka);
        settings.putAll(Map.of("group.id", "lagging", "auto.offset.reset", "earliest", "max.poll.records", 1));
        try (Consumer<byte[], byte[]> main = clients.getConsumer(settings);
                Consumer<byte[], byte[]> restoring = clients.getRestoreConsumer(settings)) {
            assertThat(clients.isStalled(Duration.ZERO)).isFalse();
            restoring.assign(List.of(lagging));
            await("a record", PATIENCE, () -> !restoring
                    .poll(Duration.ofMillis(50))
                    .isEmpty());
            assertThat(clients.isStalled(Duration.ZERO)).isFalse();
            assertThat(clients.lags()).isEmpty();
            main.assign(List.of(lagging));
            await("a record", PATIENCE, () -> !main.poll(Duration.ofMillis(50)).isEmpty());
            assertThat(clients.isStalled(Duration.ZERO)).isTrue();
            assertThat(clients.isStalled(PATIENCE)).isFalse();
            assertThat(clients.lags()).isEqualTo(Map.of(lagging, 2L));
        }
        assertThat(clients.isStalled(Duration.ZERO)).isFalse();
        assertThat(clients.lags()).isEmpty();
    }
}
