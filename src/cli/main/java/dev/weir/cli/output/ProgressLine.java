package dev.weir.cli.output;

import java.io.PrintStream;
import java.util.Locale;

/** A line on a terminal with a bar that grows with the number of completed steps. Not thread-safe. */
public final class ProgressLine implements AutoCloseable {

    private static final int WIDTH = 50;

    private final PrintStream terminal;
    private final String task;
    private final int total;
    private int completed;
    private int drawnPercent = -1;

    /** @param total the number of steps, at least 1 */
    public ProgressLine(PrintStream terminal, String task, int total) {
        this.terminal = terminal;
        this.task = task;
        this.total = total;
        draw();
    }

    /** Adds a step. The line is drawn at most 101 times, once for each percent. */
    public void step() {
        completed++;
        draw();
    }

    private void draw() {
        int percent = (int) (100L * completed / total);
        if (percent > drawnPercent) {
            drawnPercent = percent;
            int filled = WIDTH * percent / 100;
            terminal.printf(
                    Locale.ROOT,
                    "\r%s %3d%% [%s%s] %,d/%,d",
                    task,
                    percent,
                    "=".repeat(filled),
                    " ".repeat(WIDTH - filled),
                    completed,
                    total);
            terminal.flush();
        }
    }

    /** Ends the line. */
    @Override
    public void close() {
        terminal.println();
    }
}
