package dev.weir.runtime;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.kafka.KafkaSettings;
import dev.weir.pacing.CommitPacing;
import dev.weir.testing.TestBroker;
import dev.weir.topology.StreamsSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.AutoOffsetReset;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests stream threads that fail on a record, with a real broker. */
@Tag("slow")
class StreamsApplicationTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private static EmbeddedBroker broker;
    private static WeirConfig config;

    @TempDir
    Path directory;

    private final AtomicInteger tries = new AtomicInteger();
    private final ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
    private final Set<String> threads = Collections.synchronizedSet(new LinkedHashSet<>());
    private final AtomicReference<CountDownLatch> standing = new AtomicReference<>(new CountDownLatch(0));
    private final CompletableFuture<Void> last = new CompletableFuture<>();
    private final CompletableFuture<Optional<Throwable>> ended = new CompletableFuture<>();

    @BeforeAll
    static void start() {
        broker = TestBroker.shared();
        config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
    }

    @Test
    void a_thread_that_failed_without_brokers_is_replaced_and_skips_nothing() throws Exception {
        StreamsApplication application = application("passing", new TimeoutException("no answer"), 2);
        try {
            assertThat(awaitLast(application))
                    .as("while its only thread was dead")
                    .containsOnly(false);
            assertThat(threads)
                    .as("the numbers of the threads, which are part of their member ids in the group")
                    .startsWith("1", "2");
            assertThat(seen).containsSubsequence("a", "b", "c"); // may repeat if the member was removed from the group
            assertThat(tries).hasValueGreaterThanOrEqualTo(3);
            assertThat(ended).isNotDone();
        } finally {
            application.close(PATIENCE);
        }
    }

    @Test
    void repeated_thread_failures_stop_the_application() throws Exception {
        StreamsApplication application = application("failing", new TimeoutException("no answer"), Integer.MAX_VALUE);
        try {
            assertThat(failure())
                    .startsWith("working (failing) failed: ")
                    .contains("no answer")
                    .hasLineCount(1);
            assertThat(tries).hasValue(ThreadFailures.MOST + 1);
        } finally {
            application.close(PATIENCE);
        }
    }

    @Test
    void a_thread_failed_by_a_bug_stops_the_application_at_once() throws Exception {
        StreamsApplication application =
                application("buggy", new IllegalStateException("a bug\u001b[2J"), Integer.MAX_VALUE);
        try {
            assertThat(failure())
                    .startsWith("working (buggy) failed: ")
                    .contains("a bug\\u001b[2J")
                    .doesNotContain("\u001b")
                    .hasLineCount(1);
            assertThat(tries).hasValue(1);
            assertThat(seen).containsOnly("a");
        } finally {
            application.close(PATIENCE);
        }
    }

    @Test
    void a_blocked_thread_is_reported_until_it_continues() throws Exception {
        standing.set(new CountDownLatch(1));
        StreamsApplication application = application("standing", new TimeoutException("none"), 0);
        try {
            await(
                    "the application is running and stalled",
                    PATIENCE,
                    () -> application.isRunning() && application.isStalled(Duration.ofSeconds(1)));
            standing.get().countDown();
            await("the application is not stalled", PATIENCE, () -> !application.isStalled(Duration.ofSeconds(1)));
        } finally {
            standing.get().countDown();
            application.close(PATIENCE);
        }
    }

    /**
     * Waits for the last record. Returns the results of {@code isRunning()} while Kafka Streams is RUNNING without a
     * running thread.
     */
    private Set<Boolean> awaitLast(StreamsApplication application) throws Exception {
        Set<Boolean> said = new HashSet<>();
        await("the last record is processed", PATIENCE, () -> {
            boolean wasDead = isDead(application.streams());
            boolean running = application.isRunning();
            if (wasDead && isDead(application.streams())) {
                said.add(running);
            }
            return last.isDone();
        });
        return said;
    }

    private static boolean isDead(KafkaStreams streams) {
        return streams.state() == KafkaStreams.State.RUNNING
                && streams.metadataForLocalThreads().stream()
                        .noneMatch(thread -> thread.threadState().equals("RUNNING"));
    }

    private String failure() throws Exception {
        return ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS).orElseThrow().getMessage();
    }

    /** Returns an application that reads a, b, c and fails {@code times} times on b. */
    private StreamsApplication application(String id, RuntimeException failure, int times) throws Exception {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            admin.createTopics(List.of(new NewTopic(id, 1, (short) 1))).all().get();
        }
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(KafkaSettings.producer(config), new StringSerializer(), new StringSerializer())) {
            for (String value : List.of("a", "b", "c")) {
                producer.send(new ProducerRecord<>(id, value)).get();
            }
        }
        Properties settings = StreamsSettings.deciding(config.withStateDirectory(directory));
        settings.put("application.id", id);
        settings.put("group.instance.id", id); // like an enforcer
        settings.put("commit.interval.ms", 0); // so that records before a failure are not processed again
        settings.put("max.poll.records", 1);
        settings.put("main.consumer.session.timeout.ms", 1000); // how long the group waits for a failed thread
        settings.put("main.consumer.heartbeat.interval.ms", 300);
        Topology topology = new Topology()
                .addSource(AutoOffsetReset.earliest(), "in", new StringDeserializer(), new StringDeserializer(), id)
                .addProcessor("work", () -> new Working(failure, times), "in");
        StreamsApplication application =
                new StreamsApplication("working", topology, settings, new CommitPacing(config.commits()));
        application.watch(() -> {}, ended::complete);
        application.start();
        return application;
    }

    private void standStill() {
        try {
            assertThat(standing.get().await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private final class Working implements Processor<String, String, Void, Void> {

        private final RuntimeException failure;
        private final int times;

        Working(RuntimeException failure, int times) {
            this.failure = failure;
            this.times = times;
        }

        @Override
        public void process(Record<String, String> record) {
            String thread = Thread.currentThread().getName();
            threads.add(thread.substring(thread.lastIndexOf('-') + 1));
            if (record.value().equals("b") && tries.incrementAndGet() <= times) {
                throw new IllegalStateException(failure); // like a store; Streams retries a bare TimeoutException
            }
            if (record.value().equals("b")) {
                standStill();
            }
            seen.add(record.value());
            if (record.value().equals("c")) {
                last.complete(null);
            }
        }
    }
}
