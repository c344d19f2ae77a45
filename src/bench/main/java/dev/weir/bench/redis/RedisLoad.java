package dev.weir.bench.redis;

import dev.weir.bench.measure.Zipf;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A load generator that requests decisions from Redis as fast as it replies. Each thread sends the outstanding commands
 * on all its connections, then reads all replies, which are only counted.
 */
final class RedisLoad implements AutoCloseable {

    private static final int THREADS = 2;

    private final List<LoadThread> loadThreads = new ArrayList<>();
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);

    /**
     * The limit and the clients.
     *
     * @param limit the number of tokens per period, which is also the burst
     * @param perMs the period in milliseconds
     * @param clients the number of clients; the k-th sends a share of requests proportional to 1/k
     */
    record LoadTerms(long limit, long perMs, long clients) {

        /** Returns the parts of the encoded command before and after its key. */
        private String[] commandParts(String script) {
            String command = new String(
                    RedisConnection.command("EVALSHA", script, "1", "", limit + "", limit + "", perMs + "", "1"),
                    StandardCharsets.UTF_8);
            return command.split("\\$0\r\n\r\n", 2);
        }
    }

    /**
     * Opens the connections.
     *
     * @param connections the number of connections, divided among the threads
     * @param outstanding the number of outstanding commands on each connection
     */
    RedisLoad(RedisServer server, LoadTerms terms, int connections, int outstanding) throws IOException {
        for (int thread = 0; thread < THREADS; thread++) {
            int own = (connections + thread) / THREADS;
            List<RedisConnection> opened = new ArrayList<>();
            for (int i = 0; i < own; i++) {
                opened.add(server.connect());
            }
            loadThreads.add(new LoadThread(opened, outstanding, terms, thread + 1));
        }
    }

    /** Sends commands for a time. Returns the decisions per second. */
    double perSecond(long nanos) {
        long begin = System.nanoTime();
        List<CompletableFuture<Long>> counts = loadThreads.stream()
                .map(asking -> CompletableFuture.supplyAsync(() -> asking.runUntil(begin + nanos), threads))
                .toList();
        long decisions = counts.stream().mapToLong(CompletableFuture::join).sum();
        return decisions * 1e9 / (System.nanoTime() - begin);
    }

    @Override
    public void close() throws IOException {
        threads.shutdownNow();
        for (LoadThread asking : loadThreads) {
            for (RedisConnection connection : asking.connections) {
                connection.close();
            }
        }
    }

    /** The connections of one thread, and its requests. */
    private static final class LoadThread {
        private final List<RedisConnection> connections;
        private final int outstanding;
        private final String commandPrefix;
        private final String commandSuffix;
        private final Zipf zipf;

        LoadThread(List<RedisConnection> connections, int outstanding, LoadTerms terms, long seed) throws IOException {
            this.connections = connections;
            this.outstanding = outstanding;
            this.zipf = new Zipf(terms.clients, seed);
            String script = connections.isEmpty() ? "" : GcraScript.load(connections.get(0));
            String[] around = terms.commandParts(script);
            this.commandPrefix = around[0];
            this.commandSuffix = around[1];
        }

        long runUntil(long deadlineNanos) {
            long count = 0;
            try {
                while (!connections.isEmpty() && System.nanoTime() < deadlineNanos) {
                    for (RedisConnection connection : connections) {
                        send(connection);
                    }
                    for (RedisConnection connection : connections) {
                        for (int i = 0; i < outstanding; i++) {
                            connection.reply();
                        }
                    }
                    count += (long) connections.size() * outstanding;
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return count;
        }

        private void send(RedisConnection connection) throws IOException {
            for (int i = 0; i < outstanding; i++) {
                String client = "client-" + zipf.next();
                String command = commandPrefix + "$" + client.length() + "\r\n" + client + "\r\n" + commandSuffix;
                connection.add(command.getBytes(StandardCharsets.ISO_8859_1));
            }
            connection.send();
        }
    }
}
