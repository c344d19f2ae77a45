package dev.weir.fault;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** A collector of the faults in one text, so that they can be reported together. Not thread-safe. */
public final class Faults {

    /** The maximum number of faults that are kept. Further ones are only counted. */
    public static final int MAX_KEPT = 1000;

    private final String file;
    private final List<Fault> kept = new ArrayList<>();
    private int notKept;

    /**
     * Creates a collector without faults.
     *
     * @param file the file, or another source of the text
     */
    public Faults(String file) {
        this.file = file;
    }

    /**
     * Adds a fault.
     *
     * @param line the number of the line, from 1
     * @param path the path of the value, empty for the text as a whole
     * @param message what is wrong
     */
    public void add(int line, String path, String message) {
        if (!isFull()) {
            kept.add(new Fault(file, line, path, message));
        } else {
            notKept++;
        }
    }

    /**
     * Returns whether further faults are only counted, so that their messages need not be created.
     *
     * @return whether {@link #MAX_KEPT} faults have been added
     */
    public boolean isFull() {
        return kept.size() >= MAX_KEPT;
    }

    /**
     * Returns a collector without faults for the same text.
     *
     * @return a new collector
     */
    public Faults sameFile() {
        return new Faults(file);
    }

    /**
     * Adds the faults of another collector.
     *
     * @param others the other collector
     */
    public void addAll(Faults others) {
        others.kept.forEach(fault -> add(fault.line(), fault.path(), fault.message()));
        notKept += others.notKept;
    }

    /**
     * Throws an exception with all faults, ordered by line, if there are any.
     *
     * @throws FaultsException if there are faults
     */
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
