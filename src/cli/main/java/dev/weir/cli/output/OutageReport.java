package dev.weir.cli.output;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.BootstrapCheck;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Prints one line when the brokers are away, and one when they respond again. Kafka's consumer only waits. Call it
 * between polls, from one thread.
 */
// A consumer that has received nothing for a while proves nothing: the machine may be busy. So a check of its own
// connects to the brokers in the background. It fails at once if their ports are closed, and otherwise as late as any
// command gives up. Meanwhile the consumer goes on, and what it receives makes the result of the check out of date.
public final class OutageReport {

    private static final Duration SILENCE = Duration.ofSeconds(2);

    private final WeirConfig config;
    private final PrintWriter err;
    private final String command;
    private long fetches = -1;
    private long lastNanos = System.nanoTime();
    private boolean isAway;
    private Optional<Check> check = Optional.empty(); // at most one at a time

    /**
     * A check in the background.
     *
     * @param fetches the number of fetch responses when it began
     * @param outage why no broker responds; empty if one does
     */
    private record Check(long fetches, CompletableFuture<Optional<String>> outage) {}

    /** @param command the name of the command, for the lines */
    public OutageReport(WeirConfig config, PrintWriter err, String command) {
        this.config = config;
        this.err = err;
        this.command = command;
    }

    /**
     * Reports changes. Checks the brokers in the background if they have not responded for 2 seconds.
     *
     * @param total the number of fetch responses so far, which also grows while there are no records
     */
    public void polled(long total) {
        if (total != fetches) {
            fetches = total;
            lastNanos = System.nanoTime();
            if (isAway) {
                print("a broker responds again");
                isAway = false;
            }
        }
        if (check.isPresent()) {
            report(check.get());
        } else if (!isAway && System.nanoTime() - lastNanos >= SILENCE.toNanos()) {
            check = Optional.of(new Check(
                    fetches,
                    CompletableFuture.supplyAsync(() -> BootstrapCheck.outage(config), OutageReport::inBackground)));
        }
    }

    private void report(Check running) {
        if (!running.outage.isDone()) {
            return;
        }
        check = Optional.empty();
        lastNanos = System.nanoTime();
        Optional<String> outage = running.outage.join();
        if (outage.isPresent() && running.fetches == fetches) {
            print(outage.get() + "; waiting until one responds");
            isAway = true;
        }
    }

    private void print(String line) {
        err.println(command + ": " + line);
        err.flush();
    }

    private static void inBackground(Runnable task) {
        Thread thread = new Thread(task, "outage-check");
        thread.setDaemon(true); // the command can end before it
        thread.start();
    }
}
