package dev.weir.shape;

/** How many steps of work may still be done at once. */
final class Budget {

    private final int steps;
    private int left;

    Budget(int steps) {
        this.steps = steps;
        left = steps;
    }

    /** Takes a step, if there is one left. */
    boolean spend() {
        if (left == 0) {
            return false;
        }
        left--;
        return true;
    }

    /** How many steps were taken. */
    int spent() {
        return steps - left;
    }
}
