package dev.weir.shape.backlog;

/** A bound on the steps of work that are done at once. */
public final class WorkBudget {

    private final int steps;
    private int remaining;

    public WorkBudget(int steps) {
        this.steps = steps;
        remaining = steps;
    }

    /** Takes a step, unless none is left. Returns whether it did. */
    public boolean trySpend() {
        if (remaining == 0) {
            return false;
        }
        remaining--;
        return true;
    }

    /** Returns how many steps were taken. */
    public int spent() {
        return steps - remaining;
    }
}
