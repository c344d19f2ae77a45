package dev.weir.failure.load;

import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.event.Decision;
import dev.weir.failure.process.ProcessClock;
import dev.weir.testing.ChildProcess;
import dev.weir.testing.JavaProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A client that decides by leases, and sends one request at a fixed interval. */
public final class LeasedLoad implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final WeirClient weir;
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

    /** @param allowed called with each decision that allows a request, by several threads */
    public LeasedLoad(
            String bootstrapServers, String prefix, String client, long intervalMs, Consumer<Decision> allowed) {
        weir = WeirClient.builder(Map.of("bootstrap.servers", bootstrapServers))
                .prefix(prefix)
                .timeout(TIMEOUT)
                .noCircuit()
                .leased(true)
                .start();
        var unused = clock.scheduleAtFixedRate(() -> ask(client, allowed), 0, intervalMs, TimeUnit.MILLISECONDS);
    }

    private void ask(String client, Consumer<Decision> allowed) {
        var unused = weir.decide(RequestBuilder.of(client).build()).thenAccept(answer -> {
            if (answer.allowed()) {
                allowed.accept(answer.decision().orElseThrow());
            }
        });
    }

    @Override
    public void close() {
        clock.shutdownNow();
        weir.close();
    }

    /** Prints a line for each allowed request, with the wall clock of the process, until the process is killed. */
    public static void main(String[] args) {
        LeasedLoad load = new LeasedLoad(
                args[0],
                args[1],
                args[2],
                Long.parseLong(args[3]),
                decision -> System.out.println(Allowed.of(decision, System.currentTimeMillis())));
        Runtime.getRuntime().addShutdownHook(new Thread(load::close));
    }

    /**
     * An allowed request.
     *
     * @param decidedAtMs the time of the decision
     * @param wallMs the wall clock of the process at the decision
     */
    public record Allowed(long decidedAtMs, long wallMs) {

        private static final String WORD = "allowed";

        static Allowed of(Decision decision, long wallMs) {
            return new Allowed(decision.decidedAtMs(), wallMs);
        }

        @Override
        public String toString() {
            return "%s %d %d".formatted(WORD, decidedAtMs, wallMs);
        }

        private static Allowed parse(String line) {
            String[] words = line.split(" ");
            return new Allowed(Long.parseLong(words[1]), Long.parseLong(words[2]));
        }
    }

    /** The same load in its own process. */
    public static final class InProcess extends ChildProcess {

        private final ProcessClock clock;
        private final List<String> arguments;

        public InProcess(
                Path directory,
                ProcessClock clock,
                String bootstrapServers,
                String prefix,
                String client,
                long intervalMs) {
            super(client, directory.resolve(client + ".log"));
            this.clock = clock;
            arguments = List.of(bootstrapServers, prefix, client, String.valueOf(intervalMs));
        }

        @Override
        protected ProcessBuilder command() throws IOException {
            ProcessBuilder process = JavaProcess.of(
                    List.of("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                    LeasedLoad.class,
                    arguments.toArray(String[]::new));
            clock.startIn(process);
            return process;
        }

        /** Returns the allowed requests that the process has printed so far. */
        public List<Allowed> allowed() throws IOException {
            String said = Files.readString(log());
            return said.substring(0, said.lastIndexOf('\n') + 1) // the last line may be incomplete
                    .lines()
                    .filter(line -> line.startsWith(Allowed.WORD + " "))
                    .map(Allowed::parse)
                    .toList();
        }
    }
}
