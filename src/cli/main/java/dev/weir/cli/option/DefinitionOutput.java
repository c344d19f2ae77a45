package dev.weir.cli.option;

import dev.weir.definition.PolicyFileText;
import dev.weir.definition.PolicyFileText.Entry;
import dev.weir.rules.PolicyVersions;
import dev.weir.wire.PolicyAvro;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The option {@code --output} of commands that print definitions as a policy file. */
public final class DefinitionOutput {

    private enum Format {
        YAML,
        JSON;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FORMAT",
            defaultValue = "yaml",
            description = "Print yaml, with comments, or json (on one line) (default: ${DEFAULT-VALUE}).")
    private Format format;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    /**
     * Prints definitions as a policy file, policies first. Deleted ones are left out.
     *
     * @return the exit code: 1 if the file is printed, but too large to be applied, which is then reported
     */
    public int print(List<PolicyAvro.Applied> definitions) {
        List<Entry> policies = entries(definitions, PolicyAvro.Kind.POLICY);
        List<Entry> queues = entries(definitions, PolicyAvro.Kind.QUEUE);
        String text = format == Format.JSON
                ? PolicyFileText.json(policies, queues) + System.lineSeparator()
                : PolicyFileText.yaml(policies, queues);
        PrintWriter out = command.commandLine().getOut();
        out.print(text);
        out.flush();
        Optional<String> excess = PolicyFileText.excess(text, policies.size(), queues.size());
        excess.ifPresent(what -> command.commandLine()
                .getErr()
                .println(command.qualifiedName() + ": " + what + "; divide it before you apply it"));
        return excess.isPresent() ? 1 : 0;
    }

    private static List<Entry> entries(List<PolicyAvro.Applied> definitions, PolicyAvro.Kind kind) {
        return definitions.stream()
                .filter(applied -> applied.kind() == kind && !applied.isDeleted())
                .map(applied -> new Entry(applied.definition(), comments(applied)))
                .toList();
    }

    private static List<String> comments(PolicyAvro.Applied applied) {
        List<String> comments = new ArrayList<>();
        comments.add("version " + applied.version() + ", applied " + Instant.ofEpochMilli(applied.appliedAtMs())
                + applied.changedBy().author().map(author -> " by " + author).orElse("")
                + applied.changedBy().reason().map(reason -> ": " + reason).orElse(""));
        if (!applied.before().isEmpty()) {
            PolicyVersions.inForceFrom(applied, System.currentTimeMillis()).stream()
                    .filter(version -> version.version() < applied.version())
                    .forEach(version -> comments.add("version " + version.version()
                            + " is in force until a later one takes effect; it is not part of this file"));
        }
        return comments;
    }
}
