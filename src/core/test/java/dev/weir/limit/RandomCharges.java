package dev.weir.limit;

import java.util.Random;

/** Seeded random requests, biased towards critical cases: the same millisecond, window boundaries, and idle gaps. */
final class RandomCharges {

    /** The longest gap; longer ones would let late times overflow. */
    private static final long LONGEST_GAP_MS = 1L << 50;

    private final Random random;
    private final long perMs;

    RandomCharges(long seed, long perMs) {
        this.random = new Random(seed);
        this.perMs = perMs;
    }

    Random random() {
        return random;
    }

    /** Returns the time of the next request. */
    long nextMs(TrialAccount<?> trial, long nowMs) {
        long around = random.nextLong(3) - 1;
        long gapMs =
                switch (random.nextInt(12)) {
                    case 0, 1, 2, 3 -> 0;
                    case 4 -> 1;
                    case 5, 6 -> random.nextLong(perMs / 8 + 2);
                    case 7 -> random.nextLong(perMs) + 1;
                    case 8 -> perMs - Math.floorMod(nowMs, perMs) + around;
                    case 9 -> perMs + around;
                    case 10 -> trial.waitMs(Math.min(trial.capacity(), 1 + random.nextInt(3)), nowMs) + around;
                    default ->
                        random.nextInt(4) == 0
                                ? trial.waitMs(trial.capacity(), nowMs) + around
                                : random.nextLong(Math.min(perMs, LONGEST_GAP_MS) * 3 + 1);
                };
        return nowMs + Math.max(0, Math.min(gapMs, LONGEST_GAP_MS));
    }

    /** Returns the cost of the next request: 0 to two more than the capacity. */
    long nextCost(TrialAccount<?> trial, long nowMs) {
        long most = Math.min(trial.capacity(), Limit.MAX_LEVEL);
        return switch (random.nextInt(10)) {
            case 0 -> 0;
            case 1, 2, 3 -> 1;
            case 4, 5 -> random.nextLong(most / 5 + 2);
            case 6 -> random.nextLong(most + 3);
            case 7 -> Math.min(most, trial.remaining(nowMs));
            case 8 -> Math.min(most, trial.remaining(nowMs)) + 1;
            default -> random.nextLong(Math.min(most, 5) + 1);
        };
    }

    /** Returns a cost from 1 to the capacity, often at either end. The capacity must not be 0. */
    long anyCost(TrialAccount<?> trial) {
        long most = Math.min(trial.capacity(), Limit.MAX_LEVEL);
        return switch (random.nextInt(4)) {
            case 0 -> 1;
            case 1 -> most;
            case 2 -> Math.max(1, most - 1);
            default -> 1 + random.nextLong(most);
        };
    }

    /** Charges one request, or sometimes a settlement of either sign. */
    void pass(TrialAccount<?> trial, long cost, long nowMs, boolean corrects) {
        int kind = corrects ? random.nextInt(12) : 2;
        if (kind == 0) {
            trial.charge(cost, nowMs);
        } else if (kind == 1) {
            trial.charge(-cost, nowMs);
        } else {
            trial.request(cost, nowMs);
        }
    }
}
