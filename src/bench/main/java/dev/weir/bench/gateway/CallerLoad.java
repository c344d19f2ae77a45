package dev.weir.bench.gateway;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * Concurrent callers of one gateway, each with a thread of its own. They are created for each measurement, since a
 * gateway closes connections without requests.
 */
final class CallerLoad {

    private static final long NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

    private final GatewayCaller.Factory factory;
    private final int count;
    private final int clients;

    /** The calls of one caller. */
    private interface Calls<T> {
        T run(GatewayCaller caller, long beginNanos) throws IOException;
    }

    /**
     * Creates a load.
     *
     * @param count the number of callers
     * @param clients the number of clients, about which they ask in turn
     */
    CallerLoad(GatewayCaller.Factory factory, int count, int clients) {
        this.factory = factory;
        this.count = count;
        this.clients = clients;
    }

    /** Lets each caller call as soon as it has an answer (a closed loop). Returns the calls per second. */
    double perSecond(Duration time) throws Exception {
        AtomicLong numbers = new AtomicLong();
        List<Double> rates = run((caller, beginNanos) -> {
            long calls = 0;
            for (; System.nanoTime() - beginNanos < time.toNanos(); calls++) {
                caller.call(client(numbers.getAndIncrement()));
            }
            return calls * (double) NANOS_PER_SECOND / (System.nanoTime() - beginNanos);
        });
        return rates.stream().mapToDouble(Double::doubleValue).sum();
    }

    /**
     * Calls at a steady rate, which does not depend on the progress of earlier calls (an open loop). Each call is due at
     * its time, and is late if no caller is free.
     *
     * @return the times from when calls were due to their answers, in nanoseconds
     */
    Histogram latencies(double perSecond, Duration time) throws Exception {
        AtomicLong numbers = new AtomicLong();
        Histogram all = new Histogram(3);
        run((caller, beginNanos) -> callAtRate(caller, numbers, perSecond, beginNanos, time))
                .forEach(all::add);
        return all;
    }

    private Histogram callAtRate(
            GatewayCaller caller, AtomicLong numbers, double perSecond, long beginNanos, Duration time)
            throws IOException {
        Histogram own = new Histogram(3);
        while (true) {
            long number = numbers.getAndIncrement();
            long dueNanos = beginNanos + (long) (number * NANOS_PER_SECOND / perSecond);
            if (dueNanos - beginNanos >= time.toNanos()) {
                return own;
            }
            for (long early = dueNanos - System.nanoTime(); early > 0; early = dueNanos - System.nanoTime()) {
                LockSupport.parkNanos(early);
            }
            caller.call(client(number));
            own.recordValue(System.nanoTime() - dueNanos);
        }
    }

    private int client(long number) {
        return (int) (number % clients);
    }

    /** Creates the callers and lets each of them call. Returns their results. */
    private <T> List<T> run(Calls<T> calls) throws Exception {
        List<GatewayCaller> callers = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(count);
        try {
            for (int i = 0; i < count; i++) {
                callers.add(factory.create());
            }
            long beginNanos = System.nanoTime();
            List<Callable<T>> tasks = callers.stream()
                    .<Callable<T>>map(caller -> () -> calls.run(caller, beginNanos))
                    .toList();
            List<T> results = new ArrayList<>();
            for (Future<T> future : threads.invokeAll(tasks)) {
                results.add(future.get());
            }
            return results;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        } finally {
            threads.shutdownNow();
            for (GatewayCaller caller : callers) {
                caller.close();
            }
        }
    }
}
