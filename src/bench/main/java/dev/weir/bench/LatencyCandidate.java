package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.candidate.Candidate;
import dev.weir.bench.candidate.CandidateProcess;
import dev.weir.bench.measure.BackgroundThread;
import dev.weir.bench.measure.LatencyReader;
import dev.weir.bench.measure.SteadyRate;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.RequestCodec;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.LongUnaryOperator;
import org.HdrHistogram.Histogram;
import org.apache.kafka.common.IsolationLevel;

/** A candidate with its own topics that receives requests at a steady rate, and the consumers that time its results. */
final class LatencyCandidate implements AutoCloseable {

    /** The isolation levels of the consumers, in the order of the results. */
    static final List<IsolationLevel> LEVELS = List.of(IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED);

    /**
     * The time before results count. In it, the candidate processes records that it fetched before its pause, and
     * reconnects.
     */
    private static final Duration SETTLE_TIME = Duration.ofSeconds(1);

    private interface RequestIdReader {
        String read(byte[] answer) throws UnreadableException;
    }

    private final Candidate candidate;
    private final BenchCluster.Workload workload;
    private final String answerTopic;
    private final RequestIdReader requestId;

    private LatencyCandidate(
            Candidate candidate, BenchCluster.Workload workload, String answers, RequestIdReader requestId) {
        this.candidate = candidate;
        this.workload = workload;
        this.answerTopic = answers;
        this.requestId = requestId;
    }

    /** Starts a candidate that forwards each request unchanged. */
    static LatencyCandidate passing(BenchCluster.Workload workload) throws IOException {
        RequestCodec avro = new RequestCodec();
        Request.Source anywhere = new Request.Source(0, 0);
        return new LatencyCandidate(
                new Candidate(
                        "pass-through", Candidate.CandidateKind.PASS, workload.config("pass", 0), DecideBench.JVM),
                workload,
                CandidateProcess.passThroughTopic(workload.config()),
                answer -> avro.decode(answer, 0, anywhere).requestId());
    }

    /** Starts a candidate that decides requests. */
    static LatencyCandidate deciding(String name, BenchCluster.Workload workload) throws IOException {
        DecisionCodec avro = new DecisionCodec();
        long hotMemory = WeirConfig.DEFAULTS.state().hotMemoryBytes();
        return new LatencyCandidate(
                new Candidate(
                        name, Candidate.CandidateKind.DECIDE, workload.config("decide", hotMemory), DecideBench.JVM),
                workload,
                Topics.of(workload.config()).decisions(),
                answer -> avro.decode(answer).requestId());
    }

    String name() {
        return candidate.name();
    }

    /**
     * Sends requests at a rate for a time. Returns the times from when a request was due until its result was read, in
     * nanoseconds, for each isolation level.
     */
    Map<IsolationLevel, Histogram> measure(SteadyRate rate, Duration time, LongUnaryOperator clients)
            throws IOException, InterruptedException, ExecutionException {
        candidate.resume();
        List<LatencyReader> readers = new ArrayList<>();
        for (IsolationLevel level : LEVELS) {
            readers.add(
                    new LatencyReader(KafkaSettings.consumer(workload.config()), level, answerTopic, this::dueNanos));
        }
        long settleNanos = System.nanoTime();
        long fromNanos = settleNanos + SETTLE_TIME.toNanos();
        long count = rate.requestsIn(time);
        List<CompletableFuture<Histogram>> read = readers.stream()
                .map(reader -> BackgroundThread.run(() -> readToEnd(reader, fromNanos, count)))
                .toList();
        workload.send(rate, settleNanos, rate.requestsIn(SETTLE_TIME) + count, clients);
        Map<IsolationLevel, Histogram> latencies = new LinkedHashMap<>();
        for (int i = 0; i < LEVELS.size(); i++) {
            latencies.put(LEVELS.get(i), read.get(i).get());
        }
        candidate.pause();
        return latencies;
    }

    private static Histogram readToEnd(LatencyReader reader, long fromNanos, long count) {
        try (reader) {
            return reader.read(fromNanos, count);
        }
    }

    private long dueNanos(byte[] answer) {
        try {
            return BenchCluster.requestNumber(requestId.read(answer));
        } catch (UnreadableException e) {
            throw new IllegalStateException("cannot read a record on " + answerTopic, e);
        }
    }

    @Override
    public void close() {
        candidate.close();
    }
}
