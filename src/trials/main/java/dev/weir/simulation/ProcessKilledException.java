package dev.weir.simulation;

/** The kill of a simulated process, in the middle of its work. */
final class ProcessKilledException extends RuntimeException {

    private static final long serialVersionUID = 1;

    final transient GroupMember member;

    ProcessKilledException(GroupMember member) {
        super("killed", null, false, false);
        this.member = member;
    }
}
