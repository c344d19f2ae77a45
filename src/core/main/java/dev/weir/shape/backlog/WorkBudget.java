package dev.weir.shape.backlog;

/** How many steps of work may still be done at once. */
public final class WorkBudget {

    private final int steps;
    private int remaining;

    public WorkBudget(int steps) {
        this.steps = steps;
        remaining = steps;
    }

    /** Takes a step, if there is one left. */
    public boolean trySpend() {
        if (remaining == 0) {
            return false;
        }
        remaining--;
        return true;
    }

    /** How many steps were taken. */
    public int spent() {
        return steps - remaining;
    }
}
