package dev.weir.failure.load;

import dev.weir.config.WeirConfig;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Receipt;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.wire.ReleaseCodec;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A thread that answers for workers: of other clients, of the right one although the worker has not begun, twice, late, and
 * for attempts that have not been released yet. It stops when it is closed.
 */
public final class StrayAnswers implements AutoCloseable {

    private static final Duration POLL = Duration.ofMillis(20);
    private static final int LATE_MS = 12_000;
    private static final Request.Source UNSENT = new Request.Source(0, 0);

    private record Due(long atMs, long number, Request answer) {}

    private final Producers producers;
    private final Random random;
    private final KafkaConsumer<byte[], byte[]> releases;
    private final ReleaseCodec codec = new ReleaseCodec();
    private final PriorityQueue<Due> due =
            new PriorityQueue<>(Comparator.comparingLong(Due::atMs).thenComparingLong(Due::number));
    private final Thread thread = new Thread(this::run, "stray-answers");
    private final AtomicLong sent = new AtomicLong();
    private long planned;
    private volatile boolean stopped;
    private volatile Exception failure;

    /** @param producers to send with, which this closes */
    public StrayAnswers(WeirConfig config, long seed, Producers producers) {
        this.producers = producers;
        random = new Random(seed * 31 + 17);
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        releases = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        String topic = Topics.of(config).releases();
        List<TopicPartition> all = releases.partitionsFor(topic).stream()
                .map(info -> new TopicPartition(topic, info.partition()))
                .toList();
        releases.assign(all);
        releases.seekToBeginning(all);
        thread.setDaemon(true);
        thread.start();
    }

    /** Returns how many answers were sent. */
    public long sent() {
        return sent.get();
    }

    /** Stops, and waits until all answers are written. */
    public void stop() throws InterruptedException {
        stopped = true;
        thread.join();
        if (failure != null) {
            throw new IllegalStateException("stray answers have failed", failure);
        }
        producers.flush();
    }

    private void run() {
        try (releases) {
            while (!stopped) {
                for (ConsumerRecord<byte[], byte[]> record : releases.poll(POLL)) {
                    plan(codec.decode(record.value()));
                }
                while (!due.isEmpty() && due.peek().atMs <= System.currentTimeMillis()) {
                    producers.send(due.poll().answer.toBuilder()
                            .timestampMs(System.currentTimeMillis())
                            .build());
                    sent.incrementAndGet();
                }
            }
        } catch (UnreadableException | RuntimeException e) {
            failure = e;
        }
    }

    private void plan(Release release) {
        if (release.attempt() == null) {
            return;
        }
        String receipt = release.attempt().receipt();
        switch (random.nextInt(16)) {
            case 0 -> later(0, answer(release, "mallory", receipt, Result.DONE));
            case 1 -> later(random.nextInt(500), answer(release, "mallory", receipt, null));
            case 2 -> later(0, answer(release, release.client(), receipt, Result.DONE));
            case 3 -> later(0, answer(release, release.client(), next(receipt), Result.DONE));
            case 4 -> {
                later(random.nextInt(LATE_MS), answer(release, release.client(), receipt, Result.RETRY));
                later(random.nextInt(LATE_MS), answer(release, release.client(), receipt, Result.RETRY));
            }
            case 5 -> later(random.nextInt(LATE_MS), answer(release, release.client(), receipt, Result.FAILED));
            case 6 -> later(random.nextInt(LATE_MS), answer(release, release.client(), receipt, null));
            default -> {}
        }
    }

    private void later(int ms, Request answer) {
        due.add(new Due(System.currentTimeMillis() + ms, planned++, answer));
    }

    private static String next(String text) {
        Receipt receipt = Receipt.parse(text);
        return new Receipt(
                        receipt.queue(),
                        receipt.key(),
                        receipt.flow(),
                        receipt.position(),
                        receipt.source(),
                        receipt.attempt() + 1)
                .text();
    }

    /** @param result null for an EXTEND */
    private static Request answer(Release release, String client, String receipt, Result result) {
        return Request.builder(release.requestId(), client)
                .kind(result == null ? RequestKind.EXTEND : RequestKind.COMPLETE)
                .acknowledgement(new Acknowledgement(receipt, result, null, null))
                .source(UNSENT)
                .build();
    }

    @Override
    public void close() {
        stopped = true;
        producers.close();
    }
}
