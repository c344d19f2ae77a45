package dev.weir.limit;

import java.math.BigInteger;

/** The oracle of a bucket. A token has {@code perMs} parts, of which {@code tokens} flow in a millisecond. */
abstract class BucketOracle extends LimitOracle {

    final BigInteger tokens;
    final BigInteger perMs;

    BucketOracle(long tokens, long perMs, long burst) {
        super(burst);
        this.tokens = big(tokens);
        this.perMs = big(perMs);
    }

    @Override
    BigInteger partsOfToken() {
        return perMs;
    }

    boolean hasRateOf(BucketOracle other) {
        return tokens.equals(other.tokens) && perMs.equals(other.perMs);
    }

    @Override
    public BigInteger waitMs(BigInteger cost, BigInteger nowMs) {
        BigInteger most = capacity().subtract(cost).multiply(perMs);
        return ceiling(parts(nowMs).subtract(most).max(BigInteger.ZERO), tokens);
    }

    /** A token bucket or leaky bucket: the level falls steadily to 0. */
    static final class Level extends BucketOracle {
        private BigInteger level = BigInteger.ZERO;
        private BigInteger atMs = BigInteger.ZERO;

        Level(long tokens, long perMs, long burst) {
            super(tokens, perMs, burst);
        }

        @Override
        BigInteger parts(BigInteger nowMs) {
            return level.subtract(tokens.multiply(nowMs.subtract(atMs))).max(BigInteger.ZERO);
        }

        @Override
        public void charge(BigInteger cost, BigInteger nowMs) {
            level = parts(nowMs).add(cost.multiply(perMs)).max(BigInteger.ZERO);
            atMs = nowMs;
        }

        @Override
        public boolean continueFrom(LimitOracle old, long nowMs) {
            boolean isSame = old instanceof Level bucket && hasRateOf(bucket);
            if (isSame) {
                level = ((Level) old).level;
                atMs = ((Level) old).atMs;
            }
            return isSame;
        }
    }

    /**
     * GCRA: the theoretical arrival time TAT, in units of which {@code tokens} make a millisecond. A cost adds the
     * emission interval {@code perMs / tokens} for each token, and passes if the TAT is then at most {@code burst}
     * intervals ahead.
     */
    static final class Arrival extends BucketOracle {
        private BigInteger tat = BigInteger.ZERO;

        Arrival(long tokens, long perMs, long burst) {
            super(tokens, perMs, burst);
        }

        @Override
        BigInteger parts(BigInteger nowMs) {
            BigInteger now = nowMs.multiply(tokens);
            return tat.max(now).subtract(now);
        }

        @Override
        public void charge(BigInteger cost, BigInteger nowMs) {
            BigInteger now = nowMs.multiply(tokens);
            tat = tat.max(now).add(cost.multiply(perMs)).max(now);
        }
    }

    /** A bucket that is refilled in steps: the first charge is step zero. */
    static final class Steps extends BucketOracle {
        private BigInteger used = BigInteger.ZERO; // in tokens
        private BigInteger stepMs; // null until it is opened

        Steps(long tokens, long perMs, long burst) {
            super(tokens, perMs, burst);
        }

        @Override
        public void open(long nowMs) {
            stepMs = stepMs == null ? big(nowMs) : stepMs;
        }

        private BigInteger stepsUntil(BigInteger nowMs) {
            return stepMs == null ? BigInteger.ZERO : floor(nowMs.subtract(stepMs), perMs);
        }

        @Override
        BigInteger partsOfToken() {
            return BigInteger.ONE;
        }

        @Override
        BigInteger parts(BigInteger nowMs) {
            return used.subtract(stepsUntil(nowMs).multiply(tokens)).max(BigInteger.ZERO);
        }

        @Override
        public void charge(BigInteger cost, BigInteger nowMs) {
            if (cost.signum() != 0) {
                open(nowMs.longValueExact());
                used = parts(nowMs).add(cost).max(BigInteger.ZERO);
                stepMs = stepMs.add(stepsUntil(nowMs).multiply(perMs));
            }
        }

        @Override
        public BigInteger waitMs(BigInteger cost, BigInteger nowMs) {
            BigInteger steps = ceiling(parts(nowMs).add(cost).subtract(capacity()), tokens);
            return steps.signum() <= 0
                    ? BigInteger.ZERO
                    : stepMs.add(stepsUntil(nowMs).add(steps).multiply(perMs)).subtract(nowMs);
        }

        /** Steps of the same length keep their times, whatever their tokens are. */
        @Override
        public boolean continueFrom(LimitOracle old, long nowMs) {
            if (!(old instanceof Steps bucket) || !bucket.perMs.equals(perMs) || bucket.stepMs == null) {
                return false;
            }
            stepMs = bucket.stepMs.add(bucket.stepsUntil(big(nowMs)).multiply(perMs));
            if (hasRateOf(bucket)) {
                used = bucket.parts(big(nowMs));
            }
            return hasRateOf(bucket);
        }
    }
}
