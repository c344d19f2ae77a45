package dev.weir.bench;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.topics.KafkaSettings;
import dev.weir.topology.Topics;
import dev.weir.wire.DecisionAvro;
import dev.weir.wire.RequestAvro;
import dev.weir.wire.UnreadableException;
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

/** A candidate that is asked at a steady rate, on topics of its own, and those who read its answers. */
final class LatencyCandidate implements AutoCloseable {

    /** In the order in which they are told. */
    static final List<IsolationLevel> LEVELS = List.of(IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED);

    /** How long it is asked before its answers count: it goes on with what it had fetched, and connects. */
    private static final Duration SETTLE = Duration.ofSeconds(1);

    private interface RequestId {
        String of(byte[] answer) throws UnreadableException;
    }

    private final Candidate lane;
    private final BenchCluster.Workload workload;
    private final String answers;
    private final RequestId requestId;

    private LatencyCandidate(Candidate lane, BenchCluster.Workload workload, String answers, RequestId requestId) {
        this.lane = lane;
        this.workload = workload;
        this.answers = answers;
        this.requestId = requestId;
    }

    /** One whose answer to a request is the request. */
    static LatencyCandidate passing(BenchCluster.Workload workload) throws IOException {
        RequestAvro avro = new RequestAvro();
        Request.Source anywhere = new Request.Source(0, 0);
        return new LatencyCandidate(
                new Candidate("pass-through", Candidate.Kind.PASS, workload.config("pass", 0), DecideBench.JVM),
                workload,
                CandidateProcess.passed(workload.config()),
                answer -> avro.decode(answer, 0, anywhere).requestId());
    }

    static LatencyCandidate deciding(String name, BenchCluster.Workload workload) throws IOException {
        DecisionAvro avro = new DecisionAvro();
        long hotMemory = WeirConfig.DEFAULTS.state().hotMemoryBytes();
        return new LatencyCandidate(
                new Candidate(name, Candidate.Kind.DECIDE, workload.config("decide", hotMemory), DecideBench.JVM),
                workload,
                Topics.of(workload.config()).decisions(),
                answer -> avro.decode(answer).requestId());
    }

    String name() {
        return lane.name();
    }

    /** How long the answers to the requests of such a time take, in nanoseconds, as readers of each level see them. */
    Map<IsolationLevel, Histogram> turn(SteadyRate rate, Duration time, LongUnaryOperator clients)
            throws IOException, InterruptedException, ExecutionException {
        lane.resume();
        List<LatencyReader> readers = new ArrayList<>();
        for (IsolationLevel level : LEVELS) {
            readers.add(new LatencyReader(KafkaSettings.consumer(workload.config()), level, answers, this::dueNanos));
        }
        long settleNanos = System.nanoTime();
        long fromNanos = settleNanos + SETTLE.toNanos();
        long count = rate.in(time);
        List<CompletableFuture<Histogram>> read = readers.stream()
                .map(reader -> BackgroundThread.run(() -> readToEnd(reader, fromNanos, count)))
                .toList();
        workload.send(rate, settleNanos, rate.in(SETTLE) + count, clients);
        Map<IsolationLevel, Histogram> latencies = new LinkedHashMap<>();
        for (int i = 0; i < LEVELS.size(); i++) {
            latencies.put(LEVELS.get(i), read.get(i).get());
        }
        lane.pause();
        return latencies;
    }

    private static Histogram readToEnd(LatencyReader reader, long fromNanos, long count) {
        try (reader) {
            return reader.read(fromNanos, count);
        }
    }

    private long dueNanos(byte[] answer) {
        try {
            return BenchCluster.number(requestId.of(answer));
        } catch (UnreadableException e) {
            throw new IllegalStateException("not an answer is on " + answers, e);
        }
    }

    @Override
    public void close() {
        lane.close();
    }
}
