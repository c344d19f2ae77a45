package dev.weir.cli;

/** A command that runs until it is stopped, and logs what operators must know. */
interface ServerCommand {

    /** Returns whether the log is JSON. */
    boolean logsJson();
}
