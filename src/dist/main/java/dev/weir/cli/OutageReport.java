package dev.weir.cli;

import dev.weir.config.WeirConfig;
import dev.weir.topics.BootstrapCheck;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Optional;

/**
 * Prints one line when the brokers stop responding, and one when they respond again. Kafka's consumer only waits. Call
 * it between polls, from one thread.
 */
final class OutageReport {

    private static final Duration INTERVAL = Duration.ofSeconds(2);

    private final WeirConfig config;
    private final PrintWriter err;
    private final String command;
    private long fetches = -1;
    private long lastNanos = System.nanoTime();
    private boolean isAway;

    /** @param command the name of the command, for the lines */
    OutageReport(WeirConfig config, PrintWriter err, String command) {
        this.config = config;
        this.err = err;
        this.command = command;
    }

    /**
     * Checks the brokers if they have not responded for 2 seconds. The check takes at most 2 seconds.
     *
     * @param total the number of fetch responses so far, which also grows while there are no records
     */
    void polled(long total) {
        if (total != fetches) {
            fetches = total;
            lastNanos = System.nanoTime();
            if (isAway) {
                err.println(command + ": a broker responds again");
                isAway = false;
            }
        } else if (System.nanoTime() - lastNanos >= INTERVAL.toNanos()) {
            check();
            lastNanos = System.nanoTime();
        }
    }

    private void check() {
        Optional<String> outage = isAway ? Optional.empty() : BootstrapCheck.outage(config);
        outage.ifPresent(why -> {
            err.println(command + ": " + why + "; waiting until one responds");
            isAway = true;
        });
    }
}
