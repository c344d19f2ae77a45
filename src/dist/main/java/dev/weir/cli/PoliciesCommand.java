package dev.weir.cli;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.fault.SafeText;
import dev.weir.rules.PolicyTopic;
import dev.weir.wire.PolicyAvro;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Instant;
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
        description = "Validates, applies, lists and deletes policies and queues, and frees usage.",
        subcommands = {
            PoliciesCommand.Validate.class,
            PoliciesCommand.Apply.class,
            PoliciesCommand.ListAll.class,
            PoliciesCommand.Delete.class,
            PoliciesCommand.History.class,
            ResetCommand.class
        },
        footer = {
            "",
            "A policy file:",
            "  policies:",
            "    - id: free-articles",
            "      match: {tier: free, endpoint: \"/articles/**\"}",
            "      limits:",
            "        - {algorithm: sliding-window-counter, limit: 5, per: 1m}",
            "    - id: free-sms",
            "      match: {tier: free}",
            "      queue: sms",
            "  queues:",
            "    - {id: sms, limit: 100, per: 1s}"
        })
final class PoliciesCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new picocli.CommandLine.ParameterException(
                spec.commandLine(), "a subcommand is missing: validate, apply, list, delete, history or reset");
    }

    @Command(
            name = "validate",
            mixinStandardHelpOptions = true,
            description = {
                "Checks a policy file without a cluster.",
                "Prints each fault with its line. Policies can refer only to queues of the file."
            })
    static final class Validate implements Callable<Integer> {

        @Parameters(paramLabel = "FILE", description = "The policy file (YAML or JSON).")
        private Path file;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            PolicyFile.Contents contents = PolicyFiles.read(file);
            int queues = contents.queues().size();
            spec.commandLine()
                    .getOut()
                    .printf(
                            "%s: %s%s, no faults%n",
                            file,
                            count(contents.policies().size(), "policy", "policies"),
                            queues == 0 ? "" : ", " + count(queues, "queue", "queues"));
            return 0;
        }

        private static String count(int count, String one, String several) {
            return count + " " + (count == 1 ? one : several);
        }
    }

    @Command(
            name = "apply",
            mixinStandardHelpOptions = true,
            description = {
                "Applies the policies and queues of a file.",
                "Unchanged policies and queues keep their version. A policy can refer to queues of the file and of the"
                        + " cluster. Prints each change, its differences, and which usage is carried over."
            })
    static final class Apply implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Mixin
        private AuthorOptions author;

        @Option(names = "--prune", description = "Delete policies and queues that are not in the file.")
        private boolean prune;

        @Option(names = "--dry-run", description = "Print the changes without writing them.")
        private boolean dryRun;

        @Parameters(paramLabel = "FILE", description = "The policy file (YAML or JSON).")
        private Path file;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            PolicyTopic topic = new PolicyTopic(cluster.read());
            PolicyFile.Contents contents = PolicyFiles.read(file, topic::queues);
            PolicyTopic.Options options = PolicyTopic.Options.DEFAULTS
                    .withPrune(prune)
                    .withDryRun(dryRun)
                    .withChangedBy(author.changedBy());
            PrintWriter out = spec.commandLine().getOut();
            PolicyChangePrinter.print(out, topic.apply(contents, options, System.currentTimeMillis()));
            if (dryRun) {
                out.println("nothing was written: this was a dry run");
            }
            return 0;
        }
    }

    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = {
                "Lists the policies and queues in force, and scheduled versions.",
                "Each line has the fields policy or queue, id, version and definition, separated by tabs."
            })
    static final class ListAll implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            new PolicyTopic(cluster.read())
                    .readInForceFrom(System.currentTimeMillis())
                    .forEach(applied -> spec.commandLine()
                            .getOut()
                            .printf(
                                    "%s\t%s\t%d\t%s%n",
                                    applied.kind().word(),
                                    applied.id(),
                                    applied.version(),
                                    SafeText.of(applied.definition())));
            return 0;
        }
    }

    @Command(name = "delete", mixinStandardHelpOptions = true, description = "Deletes policies or queues.")
    static final class Delete implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Mixin
        private AuthorOptions author;

        @Option(
                names = "--queue",
                description = "Delete queues instead of policies. A deleted queue denies new requests; waiting requests"
                        + " are released under its last definition.")
        private boolean queue;

        @Parameters(paramLabel = "ID", arity = "1..*", description = "The ids of the policies or queues.")
        private List<String> ids;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            PolicyAvro.Kind kind = queue ? PolicyAvro.Kind.QUEUE : PolicyAvro.Kind.POLICY;
            List<PolicyTopic.Change> changes = new PolicyTopic(cluster.read())
                    .delete(
                            kind,
                            ids,
                            PolicyTopic.Options.DEFAULTS.withChangedBy(author.changedBy()),
                            System.currentTimeMillis());
            PolicyChangePrinter.print(spec.commandLine().getOut(), changes);
            List<String> missing = ids.stream()
                    .filter(id ->
                            changes.stream().noneMatch(change -> change.id().equals(id)))
                    .toList();
            if (!missing.isEmpty()) {
                throw new InputException("no " + kind.word() + " " + String.join(", ", missing), null);
            }
            return 0;
        }
    }

    @Command(
            name = "history",
            mixinStandardHelpOptions = true,
            description = {
                "Lists the versions of a policy or queue, newest first.",
                "Each line has these fields, separated by tabs: version, time of the change, effective-from (empty if"
                        + " the version applied at once), author, reason, and the definition or 'deleted'."
            })
    static final class History implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Option(names = "--queue", description = "List the versions of a queue instead of a policy.")
        private boolean queue;

        @Parameters(paramLabel = "ID", description = "The id of the policy or queue.")
        private String id;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            PolicyAvro.Kind kind = queue ? PolicyAvro.Kind.QUEUE : PolicyAvro.Kind.POLICY;
            List<PolicyAvro.Applied> versions = new PolicyTopic(cluster.read()).history(kind, id);
            if (versions.isEmpty()) {
                throw new InputException("no " + kind.word() + " " + id, null);
            }
            for (PolicyAvro.Applied version : versions) {
                spec.commandLine()
                        .getOut()
                        .printf(
                                "%d\t%s\t%s\t%s\t%s\t%s%n",
                                version.version(),
                                Instant.ofEpochMilli(version.appliedAtMs()),
                                effectiveFrom(version),
                                SafeText.of(version.changedBy().author().orElse("")),
                                SafeText.of(version.changedBy().reason().orElse("")),
                                version.isDeleted() ? "deleted" : SafeText.of(version.definition()));
            }
            return 0;
        }

        /** Returns the effective time of a version; empty if the version applied at once. */
        private static String effectiveFrom(PolicyAvro.Applied version) {
            if (version.isDeleted() || version.kind() == PolicyAvro.Kind.QUEUE) {
                return "";
            }
            try {
                long fromMs = PolicyFile.parse(version.key(), version.definition(), version.version())
                        .effectiveFromMs();
                return fromMs == 0 ? "" : Instant.ofEpochMilli(fromMs).toString();
            } catch (FaultsException e) {
                return ""; // a definition that this version of Weir cannot read
            }
        }
    }
}
