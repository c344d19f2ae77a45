package dev.weir.simulation;

/** The end of a process, in the middle of what it does. */
final class ProcessKilledException extends RuntimeException {

    private static final long serialVersionUID = 1;

    final transient GroupMember member;

    ProcessKilledException(GroupMember member) {
        super("killed", null, false, false);
        this.member = member;
    }
}
