package dev.weir.bench.measure;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Runs tasks that wait most of the time, each on a new daemon thread. */
public final class BackgroundThread {

    private BackgroundThread() {}

    public static <T> CompletableFuture<T> run(Supplier<T> task) {
        return CompletableFuture.supplyAsync(task, BackgroundThread::start);
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "background");
        thread.setDaemon(true);
        thread.start();
    }
}
