package dev.weir.gateway.envoy;

import dev.weir.policy.DurationsAndSizes;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The calls whose headers have arrived, and whose message has not. A call leaves them once: when its message has
 * arrived, or when it is closed because that takes too long, or because another call needs its place. Thread-safe.
 */
final class IncompleteCalls {

    private final Duration timeout;
    private final EnvoyCounters counters;
    private final Set<Incomplete> calls = new LinkedHashSet<>(); // in the order of their arrival; guarded by this
    private final Set<Incomplete> otherCalls = new LinkedHashSet<>(); // those of other services, likewise

    /** @param timeout how long a message may take to arrive */
    IncompleteCalls(Duration timeout, EnvoyCounters counters) {
        this.timeout = timeout;
        this.counters = counters;
    }

    /** A call. Two are never equal. */
    final class Incomplete {

        private final ServerCall<?, ?> call;
        private final CallArrival arrival;

        private Incomplete(ServerCall<?, ?> call, CallArrival arrival) {
            this.call = call;
            this.arrival = arrival;
        }

        /** Records that the message has arrived, or that the call has ended. Returns false if it was closed before. */
        boolean complete() {
            return remove(this);
        }

        private void close(Status status) {
            if (arrival.isRateLimit()) {
                counters.incomplete.increment();
            }
            arrival.leave();
            call.close(status, new Metadata());
        }
    }

    /** Adds a call. */
    Incomplete add(ServerCall<?, ?> call, CallArrival arrival) {
        Incomplete added = new Incomplete(call, arrival);
        synchronized (this) {
            ofKind(added).add(added);
        }
        return added;
    }

    private synchronized boolean remove(Incomplete call) {
        return ofKind(call).remove(call);
    }

    private Set<Incomplete> ofKind(Incomplete call) {
        return call.arrival.isRateLimit() ? calls : otherCalls;
    }

    /** Closes the call of the rate limit service that has been incomplete for longest. Returns false if none is. */
    boolean closeOldest() {
        Optional<Incomplete> oldest = removeOldest();
        oldest.ifPresent(one -> one.close(Status.RESOURCE_EXHAUSTED.withDescription(
                "the message of the call has not arrived, and the gateway has too many calls in progress"
                        + " (gateway.envoy.max-calls)")));
        return oldest.isPresent();
    }

    private synchronized Optional<Incomplete> removeOldest() {
        Iterator<Incomplete> each = calls.iterator();
        if (!each.hasNext()) {
            return Optional.empty();
        }
        Incomplete oldest = each.next();
        each.remove();
        return Optional.of(oldest);
    }

    /** Closes the calls whose message took too long. */
    void closeTimedOut() {
        for (Incomplete one : removeTimedOut()) {
            one.close(Status.DEADLINE_EXCEEDED.withDescription("the message of the call has not arrived within "
                    + DurationsAndSizes.duration(timeout.toMillis()) + " of its headers (service.request-timeout)"));
        }
    }

    private synchronized List<Incomplete> removeTimedOut() {
        List<Incomplete> timedOut = new ArrayList<>();
        removeTimedOut(calls, timedOut);
        removeTimedOut(otherCalls, timedOut);
        return timedOut;
    }

    private void removeTimedOut(Set<Incomplete> inOrder, List<Incomplete> timedOut) {
        long nowNanos = System.nanoTime();
        for (Iterator<Incomplete> each = inOrder.iterator(); each.hasNext(); ) {
            Incomplete one = each.next();
            if (nowNanos - one.arrival.nanos() <= timeout.toNanos()) {
                return;
            }
            each.remove();
            timedOut.add(one);
        }
    }
}
