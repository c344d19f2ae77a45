package dev.weir.shape.timer;

/** A bound on the steps of work that are done at once. */
public final class WorkBudget {

    private final int steps;
    private int remaining;
    private final WorkBudget whole; // null unless this is a part of another

    public WorkBudget(int steps) {
        this(steps, null);
    }

    private WorkBudget(int steps, WorkBudget whole) {
        this.steps = steps;
        this.whole = whole;
        remaining = steps;
    }

    /** Returns a budget of half the steps that are left, at least one if any is. Its steps are taken from this one. */
    public WorkBudget half() {
        return new WorkBudget((remaining + 1) / 2, this);
    }

    /** Takes a step, unless none is left. Returns whether it did. */
    public boolean trySpend() {
        if (remaining == 0 || whole != null && !whole.trySpend()) {
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
