package dev.weir.lease.holder;

import dev.weir.limit.Limit;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Requests that wait for the ledger of one shared limit, in order of arrival. Each operation takes constant time. Not
 * thread-safe.
 *
 * @param <R> the type of the requests
 */
public final class WaitingLine<R> implements Iterable<WaitingLine.Waiting<R>> {

    private Waiting<R> first;
    private Waiting<R> last;
    private long tokens;

    /**
     * A waiting request.
     *
     * @param <R> the type of the request
     */
    public static final class Waiting<R> {

        private final R request;
        private final long cost;
        private final long responses;
        private long untilMs;
        private Waiting<R> before;
        private Waiting<R> after;

        /**
         * @param cost tokens that it needs
         * @param untilMs the time at which it is decided without a response
         * @param responses the number of responses that had arrived when it started to wait
         */
        Waiting(R request, long cost, long untilMs, long responses) {
            this.request = request;
            this.cost = cost;
            this.untilMs = untilMs;
            this.responses = responses;
        }

        public R request() {
            return request;
        }

        /** Returns the tokens that it needs. */
        public long cost() {
            return cost;
        }

        /** Returns the time at which it is decided without a response. */
        public long untilMs() {
            return untilMs;
        }

        /** Returns the number of responses that had arrived when it started to wait. */
        public long responses() {
            return responses;
        }
    }

    WaitingLine() {}

    public boolean isEmpty() {
        return first == null;
    }

    /** Returns the first request, or null if none waits. */
    public Waiting<R> first() {
        return first;
    }

    void add(Waiting<R> next) {
        next.before = last;
        if (last == null) {
            first = next;
        } else {
            last.after = next;
        }
        last = next;
        tokens = Math.min(Limit.MAX_LEVEL, tokens + next.cost);
    }

    public void removeFirst() {
        remove(first);
    }

    /** Removes a request, which must be in this line. */
    public void remove(Waiting<R> one) {
        if (one.before == null) {
            first = one.after;
        } else {
            one.before.after = one.after;
        }
        if (one.after == null) {
            last = one.before;
        } else {
            one.after.before = one.before;
        }
        tokens = Math.max(0, tokens - one.cost);
    }

    /** Lets the first request wait until another time, because the ledger is busy with others. */
    public void waitLonger(long untilMs) {
        first.untilMs = untilMs;
    }

    /** Returns the cost of all requests, at most {@link Limit#MAX_LEVEL}. */
    long tokens() {
        return tokens;
    }

    @Override
    public Iterator<Waiting<R>> iterator() {
        return new Iterator<>() {
            private Waiting<R> next = first;

            @Override
            public boolean hasNext() {
                return next != null;
            }

            @Override
            public Waiting<R> next() {
                if (next == null) {
                    throw new NoSuchElementException();
                }
                Waiting<R> current = next;
                next = current.after;
                return current;
            }
        };
    }
}
