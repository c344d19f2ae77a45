package dev.weir.simulation;

/** The end of a process, in the middle of what it does. */
final class Killed extends RuntimeException {

    private static final long serialVersionUID = 1;

    final transient Member member;

    Killed(Member member) {
        super("killed", null, false, false);
        this.member = member;
    }
}
