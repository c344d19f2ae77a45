package dev.weir.bench;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Runs what waits for most of its time: on a thread of its own, that keeps no process alive. */
final class BackgroundThread {

    private BackgroundThread() {}

    static <T> CompletableFuture<T> run(Supplier<T> task) {
        return CompletableFuture.supplyAsync(task, BackgroundThread::start);
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "aside");
        thread.setDaemon(true);
        thread.start();
    }
}
