package dev.weir.failure.load;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.runtime.RequestSender;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongFunction;

/** Several producers that send a number of requests, at a rate or as fast as possible. */
public final class LoadGenerators implements AutoCloseable {

    private static final Request.Source UNSENT = new Request.Source(0, 0);
    private static final int AT_ONCE = 100;

    private final List<RequestSender> senders = new ArrayList<>();
    private final AtomicLong made = new AtomicLong();
    private final AtomicLong sent = new AtomicLong();
    private final LongFunction<Request> requests;

    /** @param requests returns the request with a number, from 0 */
    public LoadGenerators(WeirConfig config, int producers, LongFunction<Request> requests) {
        this.requests = requests;
        WeirConfig fast = config.withKafka("producer.linger.ms", "10")
                .withKafka("producer.batch.size", "131072")
                .withKafka("producer.max.request.size", "4194304")
                .withKafka("producer.delivery.timeout.ms", "240000")
                .withKafka("producer.max.block.ms", "240000");
        for (int i = 0; i < producers; i++) {
            senders.add(new RequestSender(fast));
        }
    }

    /** Returns a request with a cost of 1. */
    public static Request request(
            long number, String client, String endpoint, byte[] payload, Map<String, String> more) {
        Map<String, String> attributes = new HashMap<>(more);
        attributes.put("endpoint", endpoint);
        return Request.builder("n" + number, client)
                .attributes(attributes)
                .payload(payload)
                .timestampMs(System.currentTimeMillis())
                .source(UNSENT)
                .build();
    }

    public long sent() {
        return sent.get();
    }

    /** Sends {@code count} requests as fast as possible, and waits until they are written. */
    public void send(long count) throws InterruptedException {
        send(count, Integer.MAX_VALUE, Duration.ofDays(1));
    }

    /**
     * Sends at most {@code count} requests, at most {@code perSecond} each second, for at most {@code atMost}, and
     * waits until they are written.
     */
    public void send(long count, long perSecond, Duration atMost) throws InterruptedException {
        long until = count == Long.MAX_VALUE ? count : made.get() + count;
        long startNanos = System.nanoTime();
        long startedAt = made.get();
        AtomicReference<RuntimeException> failure = new AtomicReference<>();
        List<Thread> threads = senders.stream()
                .map(sender -> new Thread(
                        () -> {
                            try {
                                send(sender, until, startedAt, startNanos, perSecond, atMost);
                            } catch (RuntimeException e) {
                                failure.set(e);
                            }
                        },
                        "load"))
                .toList();
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        made.set(Math.min(made.get(), until)); // returns the numbers that were reserved beyond the end
        if (failure.get() != null) {
            throw failure.get();
        }
    }

    private void send(
            RequestSender sender, long until, long startedAt, long startNanos, long perSecond, Duration atMost) {
        long from;
        while (System.nanoTime() - startNanos < atMost.toNanos() && (from = made.getAndAdd(AT_ONCE)) < until) {
            long dueNanos = (from - startedAt) * TimeUnit.SECONDS.toNanos(1) / perSecond;
            while (System.nanoTime() - startNanos < dueNanos) {
                LockSupport.parkNanos(dueNanos - (System.nanoTime() - startNanos));
            }
            long to = Math.min(until, from + AT_ONCE);
            for (long number = from; number < to; number++) {
                sender.send(requests.apply(number));
            }
            sent.addAndGet(to - from);
        }
        sender.flush();
    }

    @Override
    public void close() {
        senders.forEach(RequestSender::close);
    }
}
