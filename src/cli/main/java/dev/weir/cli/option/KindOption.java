package dev.weir.cli.option;

import dev.weir.wire.PolicyAvro;
import picocli.CommandLine.Option;

/** The option {@code --queue}: the ids are those of queues. */
public final class KindOption {

    @Option(names = "--queue", description = "The ids are those of queues instead of policies.")
    private boolean queue;

    public PolicyAvro.Kind kind() {
        return queue ? PolicyAvro.Kind.QUEUE : PolicyAvro.Kind.POLICY;
    }

    /** Returns the option for a command that a message suggests, with a space before it; empty for policies. */
    public String suggested() {
        return queue ? " --queue" : "";
    }
}
