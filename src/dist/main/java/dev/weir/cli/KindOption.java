package dev.weir.cli;

import dev.weir.wire.PolicyAvro;
import picocli.CommandLine.Option;

/** The option {@code --queue}: the ids are those of queues. */
final class KindOption {

    @Option(names = "--queue", description = "The ids are those of queues instead of policies.")
    private boolean queue;

    PolicyAvro.Kind kind() {
        return queue ? PolicyAvro.Kind.QUEUE : PolicyAvro.Kind.POLICY;
    }

    /** Returns the option for a command that a message suggests, with a space before it; empty for policies. */
    String suggested() {
        return queue ? " --queue" : "";
    }
}
