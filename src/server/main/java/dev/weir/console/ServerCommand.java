package dev.weir.console;

/** A command that runs until it is stopped, and logs what operators must know. */
public interface ServerCommand {

    /** Returns whether the log is JSON. */
    boolean logsJson();
}
