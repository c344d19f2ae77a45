package dev.weir.limit;

import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;

/** The oracle of aligned windows of a fixed length: one count for each window. */
abstract class WindowOracle extends LimitOracle {

    final BigInteger perMs;
    final Map<BigInteger, BigInteger> counts; // of the last windows, by number

    private WindowOracle(long limit, long perMs, Map<BigInteger, BigInteger> counts) {
        super(limit);
        this.perMs = big(perMs);
        this.counts = counts;
    }

    final BigInteger count(BigInteger window) {
        return counts.getOrDefault(window, BigInteger.ZERO);
    }

    @Override
    public boolean continueFrom(LimitOracle old, long nowMs) {
        boolean isSame = getClass().isInstance(old) && ((WindowOracle) old).perMs.equals(perMs);
        if (isSame) {
            counts.putAll(((WindowOracle) old).counts);
        }
        return isSame;
    }

    /** A fixed window. */
    static final class Fixed extends WindowOracle {

        Fixed(long limit, long perMs) {
            this(limit, perMs, new HashMap<>());
        }

        private Fixed(long limit, long perMs, Map<BigInteger, BigInteger> counts) {
            super(limit, perMs, counts);
        }

        @Override
        BigInteger parts(BigInteger nowMs) {
            return count(floor(nowMs, perMs));
        }

        @Override
        public void charge(BigInteger cost, BigInteger nowMs) {
            BigInteger count = parts(nowMs).add(cost).max(BigInteger.ZERO);
            counts.clear();
            counts.put(floor(nowMs, perMs), count);
        }

        @Override
        public LimitOracle withTokens(long tokens) {
            return new Fixed(tokens, perMs.longValueExact(), counts);
        }
    }

    /** A sliding window counter, with the previous window weighted by the share that the sliding one covers. */
    static final class Counter extends WindowOracle {
        private final boolean isStrict;

        Counter(long limit, long perMs, boolean isStrict) {
            this(limit, perMs, isStrict, new HashMap<>());
        }

        private Counter(long limit, long perMs, boolean isStrict, Map<BigInteger, BigInteger> counts) {
            super(limit, perMs, counts);
            this.isStrict = isStrict;
        }

        @Override
        BigInteger parts(BigInteger nowMs) {
            BigInteger window = floor(nowMs, perMs);
            BigInteger coveredMs = perMs.subtract(nowMs.mod(perMs));
            BigInteger previous = count(window.subtract(BigInteger.ONE)).multiply(coveredMs);
            return count(window).multiply(perMs).add(previous);
        }

        @Override
        BigInteger partsOfToken() {
            return perMs;
        }

        @Override
        boolean roundsUp() {
            return isStrict;
        }

        @Override
        public void charge(BigInteger cost, BigInteger nowMs) {
            BigInteger window = floor(nowMs, perMs);
            BigInteger before = window.subtract(BigInteger.ONE);
            BigInteger count = count(window).add(cost);
            BigInteger previous = count(before).add(count.min(BigInteger.ZERO)); // the rest was used there
            counts.clear();
            counts.put(window, count.max(BigInteger.ZERO));
            counts.put(before, previous.max(BigInteger.ZERO));
        }

        @Override
        public LimitOracle withTokens(long tokens) {
            return new Counter(tokens, perMs.longValueExact(), isStrict, counts);
        }
    }
}
