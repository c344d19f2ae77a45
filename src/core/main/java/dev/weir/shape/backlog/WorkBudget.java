package dev.weir.shape.backlog;

/** How many steps of work may still be done at once. */
public final class WorkBudget {

    private final int steps;
    private int left;

    public WorkBudget(int steps) {
        this.steps = steps;
        left = steps;
    }

    /** Takes a step, if there is one left. */
    public boolean spend() {
        if (left == 0) {
            return false;
        }
        left--;
        return true;
    }

    /** How many steps were taken. */
    public int spent() {
        return steps - left;
    }
}
