package dev.weir.shape.fair;

import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;

/**
 * Start-time fair queueing as it is defined, in exact fractions, with the finish of every member that was ever served.
 * A call takes O(members).
 */
final class StartTimeModel {

    /** Where a member starts whose finish is not ahead of the virtual time. */
    enum Join {
        /** As by Goyal, Vin and Cheng. */
        AT_VIRTUAL_TIME,
        /** As by {@link StartTimeFairQueue}. */
        AT_END_OF_ROUND
    }

    private record Fraction(BigInteger numerator, BigInteger denominator) implements Comparable<Fraction> {
        static final Fraction ZERO = new Fraction(BigInteger.ZERO, BigInteger.ONE);

        Fraction plus(long cost, long weight) {
            BigInteger by = BigInteger.valueOf(weight);
            BigInteger sum = numerator.multiply(by).add(BigInteger.valueOf(cost).multiply(denominator));
            BigInteger divisor = sum.gcd(denominator.multiply(by));
            return new Fraction(sum.divide(divisor), denominator.multiply(by).divide(divisor));
        }

        @Override
        public int compareTo(Fraction other) {
            return numerator.multiply(other.denominator).compareTo(other.numerator.multiply(denominator));
        }

        static Fraction max(Fraction a, Fraction b) {
            return a.compareTo(b) < 0 ? b : a;
        }
    }

    private record Start(Fraction time, long order) {}

    private final Join join;
    private final Map<String, Start> waiting = new HashMap<>();
    private final Map<String, Fraction> finishes = new HashMap<>();
    private Fraction virtualTime = Fraction.ZERO;
    private long order;

    StartTimeModel(Join join) {
        this.join = join;
    }

    boolean isWaiting(String member) {
        return waiting.containsKey(member);
    }

    void enter(String member, long cost, long weight) {
        Fraction start = Fraction.max(virtualTime, finishes.getOrDefault(member, Fraction.ZERO));
        if (join == Join.AT_END_OF_ROUND && start.equals(virtualTime)) {
            Fraction end = virtualTime;
            for (Start other : waiting.values()) {
                end = Fraction.max(end, other.time);
            }
            for (Fraction finish : finishes.values()) {
                end = Fraction.max(end, finish);
            }
            Fraction paid = virtualTime.plus(cost, weight);
            start = end.compareTo(paid) < 0 ? end : paid;
        }
        waiting.put(member, new Start(start, order++));
    }

    String first() {
        return waiting.entrySet().stream()
                .min(Map.Entry.<String, Start>comparingByValue(
                        (a, b) -> a.time.equals(b.time) ? Long.compare(a.order, b.order) : a.time.compareTo(b.time)))
                .map(Map.Entry::getKey)
                .orElse(null);
    }

    void serve(String member, long cost, long weight, boolean waitsOn) {
        virtualTime = waiting.remove(member).time;
        Fraction finish = virtualTime.plus(cost, weight);
        finishes.put(member, finish);
        if (waitsOn) {
            waiting.put(member, new Start(finish, order++));
        }
        startAgainIfEmpty();
    }

    void leave(String member) {
        waiting.remove(member);
        startAgainIfEmpty();
    }

    private void startAgainIfEmpty() {
        if (waiting.isEmpty()) {
            finishes.clear();
            virtualTime = Fraction.ZERO;
        }
    }
}
