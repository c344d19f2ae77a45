package dev.weir.bench.redis;

import java.io.IOException;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A limiter by GCRA in Redis for many threads, which share one connection. Commands that arrive while others are being
 * written are written together. The limit is so high that it allows everything.
 */
// The number of outstanding commands is bounded by the callers, each of which waits for its answer.
public final class PipelinedGcra {

    private static final String LIMIT = "1000000000";
    private static final String PERIOD_MS = "3600000";

    private record Pending(byte[] command, CompletableFuture<Boolean> answer) {}

    private final RedisConnection connection;
    private final String script;
    private final Queue<Pending> unsent = new ConcurrentLinkedQueue<>();
    private final BlockingQueue<Pending> sent = new LinkedBlockingQueue<>();
    private final AtomicBoolean isSending = new AtomicBoolean();

    private PipelinedGcra(RedisConnection connection) throws IOException {
        this.connection = connection;
        script = GcraScript.load(connection);
    }

    /** Connects to a server on this machine. A daemon thread reads its replies. */
    public static PipelinedGcra connect(int port) throws IOException {
        PipelinedGcra limiter = new PipelinedGcra(RedisConnection.open(port));
        Thread reader = new Thread(limiter::readReplies, "redis-replies");
        reader.setDaemon(true);
        reader.start();
        return limiter;
    }

    /** Returns whether a request may pass, and charges it. The future fails if Redis does not answer. */
    public CompletableFuture<Boolean> allows(String key) {
        Pending pending = new Pending(
                RedisConnection.command("EVALSHA", script, "1", key, LIMIT, LIMIT, PERIOD_MS, "1"),
                new CompletableFuture<>());
        unsent.add(pending);
        while (!unsent.isEmpty() && isSending.compareAndSet(false, true)) {
            try {
                sendAll();
            } catch (IOException e) {
                pending.answer.completeExceptionally(e);
            } finally {
                isSending.set(false);
            }
        }
        return pending.answer;
    }

    private void sendAll() throws IOException {
        for (Pending next = unsent.poll(); next != null; next = unsent.poll()) {
            connection.add(next.command);
            sent.add(next);
        }
        connection.send();
    }

    private void readReplies() {
        try {
            while (true) {
                Pending next = sent.take();
                try {
                    List<?> reply = (List<?>) connection.reply();
                    next.answer.complete(Long.valueOf(1).equals(reply.get(0)));
                } catch (IOException e) {
                    next.answer.completeExceptionally(e);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
