package dev.weir.dev;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.testing.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class EmbeddedBrokerTest {
    private static final String TOPIC = "things";

    @Test
    void a_consumer_group_reads_what_a_transaction_wrote() throws Exception {
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            createTopic(broker);
            produce(broker, "a", "b", "c");
            assertThat(consume(broker, 3)).containsExactly("a", "b", "c");
        }
    }

    @Test
    void two_brokers_run_side_by_side() throws Exception {
        try (EmbeddedBroker one = EmbeddedBroker.start();
                EmbeddedBroker two = EmbeddedBroker.start()) {
            assertThat(one.bootstrapServers()).startsWith("127.0.0.1:").isNotEqualTo(two.bootstrapServers());
            createTopic(one);
            createTopic(two);
            produce(one, "one");
            produce(two, "two");
            assertThat(consume(one, 1)).containsExactly("one");
            assertThat(consume(two, 1)).containsExactly("two");
        }
    }

    @Test
    void a_restart_on_the_same_directory_keeps_topics_records_and_offsets(@TempDir Path parent) throws Exception {
        Path directory = parent.resolve("kept");
        int port;
        try (EmbeddedBroker broker = EmbeddedBroker.start(directory, 0)) {
            port = port(broker);
            createTopic(broker);
            produce(broker, "before");
            assertThat(consume(broker, 1)).containsExactly("before");
        }
        try (EmbeddedBroker broker = EmbeddedBroker.start(directory, port)) {
            assertThat(broker.bootstrapServers()).isEqualTo("127.0.0.1:" + port);
            produce(broker, "after");
            assertThat(consume(broker, 1)).containsExactly("after");
        }
        assertThat(directory).isNotEmptyDirectory();
    }

    @Test
    void close_leaves_no_temporary_directory_and_no_thread() throws Exception {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        EmbeddedBroker broker = EmbeddedBroker.start();
        assertThat(broker.directory()).isNotEmptyDirectory();

        broker.close();
        broker.close();

        assertThat(broker.directory()).doesNotExist();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (!before.contains(thread) && !thread.isDaemon()) {
                thread.join(10_000);
                assertThat(thread.isAlive()).as(thread.getName()).isFalse();
            }
        }
    }

    @Test
    void its_users_close_while_it_still_runs() throws Exception {
        List<String> read = new ArrayList<>();
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            createTopic(broker);
            broker.beforeClose(() -> read.addAll(consume(broker, 1)));
            broker.beforeClose(() -> produce(broker, "the last registered closes first"));
        }
        assertThat(read).containsExactly("the last registered closes first");
    }

    @Test
    void two_interrupted_processes_print_nothing_and_leave_nothing_behind(@TempDir Path logs) throws Exception {
        Path log = logs.resolve("stderr");
        Process one = process(log);
        Process two = process(log);
        try {
            Path directoryOne = Path.of(one.inputReader().readLine());
            Path directoryTwo = Path.of(two.inputReader().readLine());
            assertThat(directoryOne).isNotEmptyDirectory().isNotEqualTo(directoryTwo);
            for (Process process : List.of(one, two)) {
                process.destroy();
                process.waitFor();
            }
            assertThat(log).content().isEmpty();
            assertThat(directoryOne).doesNotExist();
            assertThat(directoryTwo).doesNotExist();
        } finally {
            one.destroyForcibly();
            two.destroyForcibly();
        }
    }

    private static Process process(Path log) throws Exception {
        return JavaProcess.of(List.of(), EmbeddedBrokerTest.class)
                .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
    }

    /** The main method of a child process: starts and stops a broker, uses another one and exits without closing it. */
    public static void main(String[] arguments) throws Exception {
        EmbeddedBroker.start().close();
        EmbeddedBroker broker = EmbeddedBroker.start();
        KafkaProducer<String, String> left = producer(broker);
        left.initTransactions();
        createTopic(broker);
        produce(broker, "a");
        consume(broker, 1);
        System.out.println(broker.directory());
    }

    @Test
    void a_taken_port_is_named_in_one_line(@TempDir Path directory) {
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            int port = port(broker);
            assertThatThrownBy(() -> EmbeddedBroker.start(directory, port))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the broker did not start: port " + port + ": Address already in use");
        }
    }

    @Test
    void a_directory_in_use_is_rejected_and_its_broker_continues(@TempDir Path directory) throws Exception {
        try (EmbeddedBroker broker = EmbeddedBroker.start(directory, 0)) {
            assertThatThrownBy(() -> EmbeddedBroker.start(directory, 0))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the broker did not start: " + directory + " is in use by another broker");
            createTopic(broker);
            produce(broker, "still here");
            assertThat(consume(broker, 1)).containsExactly("still here");
        }
    }

    private static int port(EmbeddedBroker broker) {
        String address = broker.bootstrapServers();
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    private static void createTopic(EmbeddedBroker broker) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrapServers()))) {
            admin.createTopics(List.of(new NewTopic(TOPIC, 1, (short) 1))).all().get();
        }
    }

    private static KafkaProducer<String, String> producer(EmbeddedBroker broker) {
        Map<String, Object> config =
                Map.of("bootstrap.servers", broker.bootstrapServers(), "transactional.id", "test", "linger.ms", 0);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    private static void produce(EmbeddedBroker broker, String... values) {
        try (KafkaProducer<String, String> producer = producer(broker)) {
            producer.initTransactions();
            producer.beginTransaction();
            for (String value : values) {
                var unused = producer.send(new ProducerRecord<>(TOPIC, "key", value));
            }
            producer.commitTransaction();
        }
    }

    /** Returns the next {@code count} values of the group and commits their offsets. */
    private static List<String> consume(EmbeddedBroker broker, int count) {
        Map<String, Object> config = Map.of(
                "bootstrap.servers", broker.bootstrapServers(),
                "group.id", "test",
                "auto.offset.reset", "earliest",
                "isolation.level", "read_committed");
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(TOPIC));
            List<String> values = new ArrayList<>();
            while (values.size() < count) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    values.add(record.value());
                }
            }
            consumer.commitSync();
            return values;
        }
    }
}
