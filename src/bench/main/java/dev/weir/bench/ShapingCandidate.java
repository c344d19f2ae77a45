package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.candidate.BenchQueues;
import dev.weir.bench.candidate.Candidate;
import dev.weir.bench.measure.BackgroundThread;
import dev.weir.bench.measure.ResultTable;
import dev.weir.client.release.ReleaseConsumer;
import dev.weir.event.Release;
import dev.weir.fault.FaultsException;
import dev.weir.topics.TopicReader;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A candidate with its own queues, and the process that shapes them. */
final class ShapingCandidate implements AutoCloseable {

    static final List<String> PACING_COLUMNS = List.of("p50 ms", "p99 ms", "max ms", "releases");

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** The additional time for which requests are queued, so that no queue is empty at the end of the measurement. */
    private static final Duration MARGIN = Duration.ofSeconds(2);

    private static final Duration PAUSE = Duration.ofMillis(50);
    private static final long NANOS_PER_SECOND = 1_000_000_000;

    private final BenchQueues queues;
    private final BenchCluster.Workload workload;
    private final Candidate candidate;

    /** @param workload the workload with the queues, which are stopped */
    ShapingCandidate(BenchQueues queues, BenchCluster.Workload workload) throws IOException {
        this.queues = queues;
        this.workload = workload;
        String name = queues.count() == 1 ? "1 queue" : "%,d queues".formatted(queues.count());
        candidate = new Candidate(name, Candidate.CandidateKind.SHAPE, workload.config(), DecideBench.JVM);
    }

    /** Returns the candidate, whose record count is that of releases. */
    Candidate candidate() {
        return candidate;
    }

    /** Queues requests until there are {@code requests} in total, including those released, and starts the queues. */
    void ensureRequests(long requests) throws Exception {
        if (requests > workload.sent()) {
            fill(requests - workload.sent());
            apply(queues.unboundedRules());
        }
    }

    /** Stops the queues and queues more requests, the same number in each. */
    private void fill(long requests) throws Exception {
        apply(queues.stoppedRules());
        workload.admit(requests, queues);
        candidate.resume();
        while (candidate.admitted() < workload.sent()) {
            Thread.sleep(PAUSE.toMillis());
        }
        candidate.pause();
    }

    private void apply(String rules) throws IOException, FaultsException, InterruptedException {
        long before = candidate.ruleChanges();
        long changes = workload.apply(rules);
        while (candidate.ruleChanges() < before + changes) {
            Thread.sleep(PAUSE.toMillis());
        }
    }

    /**
     * Measures the pace of the queues. Returns the errors of {@code releaseAt}, of the arrival at a read_committed
     * consumer, and of the return from a {@link ReleaseConsumer}.
     */
    List<ResultTable.Row> pacing(Duration time) throws Exception {
        Duration settle = Duration.ofMillis(2 * queues.longestMs()).plusSeconds(1);
        fill(queues.count() * (settle.plus(time).plus(MARGIN).toMillis() / queues.shortestMs()));
        apply(queues.steadyRules());
        try (TopicReader<Release> reader = TopicReader.releases(workload.config(), TopicReader.From.END, true);
                ReleaseConsumer worker = workload.workers()) {
            candidate.resume();
            long fromNanos = wallClockNanos() + settle.toNanos();
            long toNanos = fromNanos + time.toNanos();
            PacingErrors stamped = new PacingErrors(queues, fromNanos, toNanos);
            PacingErrors read = new PacingErrors(queues, fromNanos, toNanos);
            PacingErrors handedOut = new PacingErrors(queues, fromNanos, toNanos);
            CompletableFuture<PacingErrors> work = BackgroundThread.run(() -> handOut(worker, handedOut));
            while (!read.isComplete() && !work.isCompletedExceptionally()) {
                reader.poll(Duration.ofMillis(100), release -> {
                    read.add(release, wallClockNanos());
                    stamped.add(release, release.releaseAtNanos());
                });
            }
            work.get();
            candidate.pause();
            return List.of(
                    stamped.row(candidate.name() + ", releaseAt"),
                    read.row(candidate.name() + ", read"),
                    handedOut.row(candidate.name() + ", returned"));
        }
    }

    private static PacingErrors handOut(ReleaseConsumer worker, PacingErrors handedOut) {
        while (!handedOut.isComplete()) {
            Release release = worker.next(PATIENCE)
                    .orElseThrow(() -> new IllegalStateException("no release for " + PATIENCE.toSeconds() + " s"));
            handedOut.add(release, wallClockNanos());
        }
        return handedOut;
    }

    private static long wallClockNanos() {
        Instant now = Instant.now();
        return now.getEpochSecond() * NANOS_PER_SECOND + now.getNano();
    }

    @Override
    public void close() {
        candidate.close();
    }
}
