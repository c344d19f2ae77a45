package dev.weir.simulation.cluster;

/** The kill of a simulated process, in the middle of its work. */
public final class ProcessKilledException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public final transient GroupMember member;

    ProcessKilledException(GroupMember member) {
        super("killed", null, false, false);
        this.member = member;
    }
}
