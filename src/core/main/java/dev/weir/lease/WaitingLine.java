package dev.weir.lease;

import dev.weir.limit.Limit;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;

/**
 * Requests that wait for the ledger of one shared limit, in order of arrival. Not thread-safe.
 *
 * @param <R> the type of the requests
 */
public final class WaitingLine<R> implements Iterable<WaitingLine.Waiting<R>> {

    private final Deque<Waiting<R>> waiting = new ArrayDeque<>(0);
    private long tokens;

    /**
     * A waiting request.
     *
     * @param request the request
     * @param cost tokens that it needs
     * @param untilMs the time at which it is decided without a response
     * @param responses the number of responses that had arrived when it started to wait
     */
    public record Waiting<R>(R request, long cost, long untilMs, long responses) {}

    WaitingLine() {}

    public boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Returns the first request, or null if none waits. */
    public Waiting<R> first() {
        return waiting.peek();
    }

    void add(Waiting<R> last) {
        waiting.add(last);
        tokens = Math.min(Limit.MAX_LEVEL, tokens + last.cost);
    }

    public void removeFirst() {
        tokens = Math.max(0, tokens - waiting.remove().cost);
    }

    /** Lets the first request wait until another time, because the ledger is busy with others. */
    public void waitLonger(long untilMs) {
        Waiting<R> first = waiting.remove();
        waiting.addFirst(new Waiting<>(first.request, first.cost, untilMs, first.responses));
    }

    /** Returns the cost of all requests, at most {@link Limit#MAX_LEVEL}. */
    long tokens() {
        return tokens;
    }

    @Override
    public Iterator<Waiting<R>> iterator() {
        return waiting.iterator();
    }
}
