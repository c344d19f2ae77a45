package dev.weir.bench.jmh;

import com.sun.management.ThreadMXBean;
import dev.weir.bench.candidate.BenchCluster;
import dev.weir.client.WeirClient;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.runtime.Enforcer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * A decision by a leased client. The broker and the enforcer, which grants the leases, run in the same process.
 */
@BenchmarkMode({Mode.AverageTime, Mode.SampleTime})
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Benchmark)
public class LeasedClientBenchmark {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int CLIENTS = 100;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final Request.Source SOURCE = new Request.Source(0, 0);

    /** The policies that apply to a request. */
    public enum Policies {
        ONE("  - {id: all, key: [], lease: client, limits: [LIMIT]}\n"),
        EACH_CLIENT("  - {id: each, key: [client], lease: client, limits: [LIMIT]}\n"),
        TWO_LAYERS("""
                  - {id: all, key: [], lease: client, limits: [LIMIT]}
                  - {id: each, layer: each, key: [client], lease: client, limits: [LIMIT]}
                """);

        private final String yaml;

        Policies(String yaml) {
            this.yaml =
                    "policies:\n" + yaml.replace("LIMIT", "{algorithm: fixed-window, limit: 1000000000000, per: 1h}");
        }
    }

    /** The counts of a thread in an iteration. */
    @AuxCounters(AuxCounters.Type.EVENTS)
    @State(Scope.Thread)
    public static class Done {
        public long decisions;

        /** How many requests could not be decided at once. */
        public long missed;

        private long bytesBefore;

        @Setup(Level.Iteration)
        public void begin() {
            bytesBefore = THREADS.getCurrentThreadAllocatedBytes();
        }

        /** Returns the bytes that the thread allocated in the iteration. */
        public long bytes() {
            return THREADS.getCurrentThreadAllocatedBytes() - bytesBefore;
        }
    }

    @Param({"ONE", "EACH_CLIENT", "TWO_LAYERS"})
    Policies policies;

    private final Request[] requests = new Request[CLIENTS];
    private BenchCluster cluster;
    private Enforcer enforcer;
    private WeirClient weir;

    /** The index of the next request. */
    @State(Scope.Thread)
    public static class Next {
        private int index;
    }

    @Setup(Level.Trial)
    public void start() throws IOException, InterruptedException, FaultsException {
        cluster = new BenchCluster();
        BenchCluster.Workload workload = cluster.workload(policies.yaml, Map.of());
        enforcer = Enforcer.start(workload.config());
        enforcer.awaitRunning(PATIENCE);
        weir = WeirClient.builder(workload.config().kafka())
                .prefix(workload.config().topics().prefix())
                .applicationId(workload.config().applicationId())
                .leased(true)
                .timeout(PATIENCE)
                .start();
        if (!weir.awaitReady(PATIENCE)) {
            throw new IllegalStateException("the client is not ready: " + weir.failure());
        }
        Map<String, String> attributes = Map.of("endpoint", "/articles/7", "method", "GET");
        for (int i = 0; i < CLIENTS; i++) {
            requests[i] = Request.builder("r", "client-" + i)
                    .tier("free")
                    .attributes(attributes)
                    .source(SOURCE)
                    .build();
        }
    }

    @TearDown(Level.Trial)
    public void stop() throws IOException {
        weir.close();
        enforcer.close();
        cluster.close();
    }

    @Benchmark
    public Optional<Decision> decide(Next next, Done done) {
        next.index = next.index + 1 == CLIENTS ? 0 : next.index + 1;
        Optional<Decision> decision = weir.tryDecide(requests[next.index]);
        done.decisions++;
        if (decision.isEmpty()) {
            done.missed++;
        }
        return decision;
    }
}
