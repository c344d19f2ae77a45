package dev.weir.fault;

import java.util.List;
import java.util.stream.Collectors;

/** A text was refused; the message has one line for each fault. */
public final class FaultsException extends Exception {

    private static final long serialVersionUID = 1L;

    private final transient List<Fault> faults;

    FaultsException(List<Fault> faults) {
        super(faults.stream().map(Fault::toString).collect(Collectors.joining("\n")), null, false, false);
        this.faults = List.copyOf(faults);
    }

    /** Everything that is wrong, one or more, in the order of the lines. */
    public List<Fault> faults() {
        return faults;
    }
}
