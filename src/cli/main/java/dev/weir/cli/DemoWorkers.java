package dev.weir.cli;

import dev.weir.client.release.ReleaseTask;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import dev.weir.runtime.RequestSender;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerConfig;

/** The last chapter of the demo: jobs of three tiers, at most so many at a time. A worker dies, and another takes over. */
final class DemoWorkers {

    private static final int SLOTS = 6;
    private static final int JOBS = 45;
    private static final List<String> TIERS = List.of("free", "academic", "commercial"); // sent in this order
    private static final String QUEUE = "jobs";
    private static final int SHORTEST_MS = 50;
    private static final int RANGE_MS = 250;

    /** The policy and the queue of the jobs. */
    static final String RULES = """
            policies:
              - {id: jobs, layer: jobs, match: {endpoint: /jobs}, queue: jobs}
            queues:
              - id: jobs
                max-in-flight: %d
                ack-timeout: 2s
                max-attempts: 1000
                retry-backoff: 0ms
                tiers: {commercial: {priority: 1}, academic: {weight: 4}}
            """.formatted(SLOTS);

    private final WeirConfig config;
    private final LongAdder attempts = new LongAdder();
    private final Map<String, Long> doneNanos = new ConcurrentHashMap<>(); // when each job was done first
    private final CountDownLatch allDone = new CountDownLatch(JOBS);
    private final Semaphore worksOn = new Semaphore(SLOTS); // jobs that the dying worker does before
    private final CountDownLatch dying = new CountDownLatch(SLOTS);
    private final CountDownLatch end = new CountDownLatch(1);

    DemoWorkers(WeirConfig config) {
        this.config = config;
    }

    /**
     * Runs the jobs, and prints when they were done.
     *
     * @throws UnreachableException if they are not done within a time
     */
    void run(PrintWriter out, Duration timeout) throws InterruptedException {
        out.println();
        out.printf(
                "Queueing %d jobs, at most %d at a time. A worker dies, and another one takes over ...%n", JOBS, SLOTS);
        out.flush();
        long startNanos = System.nanoTime();
        try (RequestSender sender = new RequestSender(config)) {
            for (int i = 0; i < JOBS; i++) {
                sender.send(job(i));
            }
        }
        try {
            try (ReleaseWorker mortal = worker(this::workAndDie, Duration.ZERO)) {
                await(dying, timeout);
            }
            try (ReleaseWorker living = worker(this::work, timeout)) {
                await(allDone, timeout);
            }
        } finally {
            end.countDown();
        }
        print(out, startNanos);
    }

    private static Request job(int number) {
        return Request.builder("job-" + number, "customer-" + number)
                .tier(TIERS.get(number * TIERS.size() / JOBS))
                .attributes(Map.of("endpoint", "/jobs"))
                .timestampMs(System.currentTimeMillis())
                .source(0, 0)
                .build();
    }

    private ReleaseWorker worker(ReleaseTask.Handler handler, Duration finishWithin) {
        Map<String, Object> settings = new HashMap<>(KafkaSettings.weirClient(config));
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, "weir-demo");
        ReleaseTask.Handler ofJobs = task -> {
            if (task.release().queue().equals(QUEUE)) {
                attempts.increment();
                handler.handle(task);
            }
        };
        return ReleaseWorker.builder(settings, ofJobs)
                .prefix(config.topics().prefix())
                .threads(SLOTS)
                .finishWithin(finishWithin)
                .start();
    }

    private void work(ReleaseTask task) throws InterruptedException {
        String job = task.release().requestId();
        TimeUnit.MILLISECONDS.sleep(SHORTEST_MS + Math.floorMod(job.hashCode() * 31, RANGE_MS));
        if (doneNanos.putIfAbsent(job, System.nanoTime()) == null) {
            allDone.countDown();
        }
    }

    /** Does some jobs, and holds the next ones until the end of the demo, as a process that was killed. */
    private void workAndDie(ReleaseTask task) throws InterruptedException {
        if (worksOn.tryAcquire()) {
            work(task);
            return;
        }
        dying.countDown();
        while (end.getCount() > 0) {
            try {
                end.await();
            } catch (InterruptedException e) {
                // a process that was killed reports nothing
            }
        }
    }

    private static void await(CountDownLatch latch, Duration timeout) throws InterruptedException {
        if (!latch.await(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new UnreachableException("the jobs were not done within " + timeout.toSeconds() + " s", null);
        }
    }

    private void print(PrintWriter out, long startNanos) {
        for (int tier = TIERS.size() - 1; tier >= 0; tier--) {
            String name = TIERS.get(tier);
            double seconds = IntStream.range(0, JOBS)
                    .mapToObj(DemoWorkers::job)
                    .filter(job -> job.tier().equals(name))
                    .mapToLong(job -> doneNanos.get(job.requestId()) - startNanos)
                    .average()
                    .orElseThrow();
            out.printf("  %-12s done after %.1f s on average%n", name, seconds / 1e9);
        }
        long lastNanos = doneNanos.values().stream()
                .mapToLong(nanos -> nanos - startNanos)
                .max()
                .orElseThrow();
        out.printf(
                "All %d jobs are done after %.1f s, in %d attempts: what the dead worker held was released again.%n",
                JOBS, lastNanos / 1e9, attempts.sum());
        out.flush();
    }
}
