package dev.weir.fault;

import java.util.List;
import java.util.stream.Collectors;

/** Indicates that a text is invalid. The message has one line per fault. */
public final class FaultsException extends Exception implements BadInput {

    private static final long serialVersionUID = 1L;

    private final transient List<Fault> faults;

    FaultsException(List<Fault> faults) {
        super(faults.stream().map(Fault::toString).collect(Collectors.joining("\n")), null, false, false);
        this.faults = List.copyOf(faults);
    }

    /**
     * Returns all faults, ordered by line.
     *
     * @return one or more faults, unmodifiable
     */
    public List<Fault> faults() {
        return faults;
    }
}
