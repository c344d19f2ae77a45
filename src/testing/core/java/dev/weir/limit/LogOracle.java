package dev.weir.limit;

import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;

/** The oracle of a sliding window log: a list of the charges. */
final class LogOracle extends LimitOracle {
    private record Entry(BigInteger atMs, BigInteger cost) {}

    private final BigInteger perMs;
    private final Deque<Entry> entries = new ArrayDeque<>();
    private BigInteger sum = BigInteger.ZERO;

    LogOracle(long limit, long perMs) {
        super(limit);
        this.perMs = big(perMs);
    }

    private boolean isLive(Entry entry, BigInteger nowMs) {
        return nowMs.subtract(entry.atMs).compareTo(perMs) < 0;
    }

    @Override
    BigInteger parts(BigInteger nowMs) {
        BigInteger live = sum;
        Iterator<Entry> oldest = entries.iterator();
        while (oldest.hasNext()) {
            Entry entry = oldest.next();
            if (isLive(entry, nowMs)) {
                break;
            }
            live = live.subtract(entry.cost);
        }
        return live;
    }

    @Override
    public void charge(BigInteger cost, BigInteger nowMs) {
        removeOld(nowMs);
        if (cost.signum() > 0) {
            add(new Entry(nowMs, cost));
        }
        BigInteger credit = cost.negate();
        while (credit.signum() > 0 && !entries.isEmpty()) {
            Entry newest = entries.removeLast();
            sum = sum.subtract(newest.cost);
            if (newest.cost.compareTo(credit) > 0) {
                add(new Entry(newest.atMs, newest.cost.subtract(credit)));
            }
            credit = credit.subtract(newest.cost);
        }
    }

    private void add(Entry entry) {
        entries.addLast(entry);
        sum = sum.add(entry.cost);
    }

    private void removeOld(BigInteger nowMs) {
        while (!entries.isEmpty() && !isLive(entries.peekFirst(), nowMs)) {
            sum = sum.subtract(entries.removeFirst().cost);
        }
    }

    @Override
    public boolean continueFrom(LimitOracle old, long nowMs) {
        if (old instanceof LogOracle log) {
            log.removeOld(big(nowMs)); // costs that have left the old window do not return in a longer one
            log.entries.forEach(this::add);
        }
        return old instanceof LogOracle;
    }
}
