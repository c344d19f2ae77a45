package dev.weir.fault;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Collects what is wrong with one text, so that all of it can be told at once. */
public final class Faults {

    /** How many faults are kept; of those beyond, only the number is told. */
    public static final int MAX_KEPT = 1000;

    private final String file;
    private final List<Fault> kept = new ArrayList<>();
    private int notKept;

    /** @param file the file, or where else the text is from */
    public Faults(String file) {
        this.file = file;
    }

    public void add(int line, String path, String message) {
        if (!isFull()) {
            kept.add(new Fault(file, line, path, message));
        } else {
            notKept++;
        }
    }

    /** Whether faults are only counted from now on, so that nobody need find words for them. */
    public boolean isFull() {
        return kept.size() >= MAX_KEPT;
    }

    /** Nothing yet, about the same text. */
    public Faults sameFile() {
        return new Faults(file);
    }

    public void addAll(Faults others) {
        others.kept.forEach(fault -> add(fault.line(), fault.path(), fault.message()));
        notKept += others.notKept;
    }

    /** Throws what was collected, in the order of the lines, if there is any. */
    public void throwIfAny() throws FaultsException {
        if (kept.isEmpty()) {
            return;
        }
        List<Fault> sorted = new ArrayList<>(kept);
        sorted.sort(Comparator.comparingInt(Fault::line));
        if (notKept > 0) {
            Fault last = sorted.get(sorted.size() - 1);
            sorted.add(new Fault(file, last.line(), "", "and " + notKept + " more faults"));
        }
        throw new FaultsException(sorted);
    }
}
