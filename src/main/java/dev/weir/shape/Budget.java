package dev.weir.shape;

/** How many steps of work may still be done at once. */
final class Budget {

    private int left;

    Budget(int steps) {
        left = steps;
    }

    /** Takes a step, if there is one left. */
    boolean spend() {
        return left-- > 0;
    }

    boolean isSpent() {
        return left <= 0;
    }
}
