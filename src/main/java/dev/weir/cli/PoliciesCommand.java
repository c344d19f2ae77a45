package dev.weir.cli;

import dev.weir.app.PolicyTopic;
import dev.weir.codec.FaultsException;
import dev.weir.codec.PolicyFile;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "policies",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = "Checks, applies, lists and deletes policies.",
        subcommands = {
            PoliciesCommand.Validate.class,
            PoliciesCommand.Apply.class,
            PoliciesCommand.ListAll.class,
            PoliciesCommand.Delete.class
        },
        footer = {
            "",
            "A policy file:",
            "  policies:",
            "    - id: free-articles",
            "      match: {tier: free, endpoint: \"/articles/**\"}",
            "      limits:",
            "        - {algorithm: sliding-window-counter, limit: 5, per: 1m}"
        })
final class PoliciesCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new picocli.CommandLine.ParameterException(spec.commandLine(), "which? validate, apply, list or delete");
    }

    @Command(
            name = "validate",
            mixinStandardHelpOptions = true,
            description = "Checks a policy file and prints every fault with its line. Needs no cluster.")
    static final class Validate implements Callable<Integer> {

        @Parameters(paramLabel = "FILE", description = "The policy file (YAML or JSON).")
        private Path file;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            int count = UserFiles.read(file, PolicyFile::read).size();
            spec.commandLine()
                    .getOut()
                    .printf("%s: %d %s, no fault%n", file, count, count == 1 ? "policy" : "policies");
            return 0;
        }
    }

    @Command(
            name = "apply",
            mixinStandardHelpOptions = true,
            description = "Puts the policies of a file in force; those that did not change stay as they are.")
    static final class Apply implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Option(names = "--prune", description = "Delete the policies that are not in the file.")
        private boolean prune;

        @Parameters(paramLabel = "FILE", description = "The policy file (YAML or JSON).")
        private Path file;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            List<PolicyFile.Definition> definitions = UserFiles.read(file, PolicyFile::read);
            PolicyTopic topic = new PolicyTopic(cluster.read());
            PolicyChanges.print(
                    spec.commandLine().getOut(), topic.apply(definitions, prune, System.currentTimeMillis()));
            return 0;
        }
    }

    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "Prints the policies in force, one a line: id, version, definition.")
    static final class ListAll implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            new PolicyTopic(cluster.read()).read().values().forEach(applied -> spec.commandLine()
                    .getOut()
                    .printf("%s\t%d\t%s%n", applied.id(), applied.version(), applied.definition()));
            return 0;
        }
    }

    @Command(name = "delete", mixinStandardHelpOptions = true, description = "Takes policies out of force.")
    static final class Delete implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Parameters(paramLabel = "ID", arity = "1..*", description = "The policies' ids.")
        private List<String> ids;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            List<PolicyTopic.Change> changes = new PolicyTopic(cluster.read()).delete(ids, System.currentTimeMillis());
            PolicyChanges.print(spec.commandLine().getOut(), changes);
            List<String> missing = ids.stream()
                    .filter(id ->
                            changes.stream().noneMatch(change -> change.id().equals(id)))
                    .toList();
            if (!missing.isEmpty()) {
                throw new InputException("no policy " + String.join(", ", missing), null);
            }
            return 0;
        }
    }
}
