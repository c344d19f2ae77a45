package dev.weir.cli.policy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.api.JsonViews;
import dev.weir.cli.option.AuthorOptions;
import dev.weir.cli.option.KindOption;
import dev.weir.cli.option.OutputOption;
import dev.weir.cli.option.PolicyFileArgument;
import dev.weir.cli.output.PolicyChangePrinter;
import dev.weir.cli.output.TextTable;
import dev.weir.config.WeirConfig;
import dev.weir.console.ClusterOptions;
import dev.weir.console.InputException;
import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.fault.SafeText;
import dev.weir.query.MissingKeyFields;
import dev.weir.query.RequestSample;
import dev.weir.rules.PolicyTopic;
import dev.weir.rules.PolicyWarnings;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.json.Json;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "policies",
        aliases = "policy",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = "Validates, imports, applies, prints, restores and deletes policies and queues, and frees usage.",
        subcommands = {
            PoliciesCommand.Validate.class,
            PoliciesCommand.Apply.class,
            PoliciesCommand.ListAll.class,
            GetPoliciesCommand.class,
            ExportPoliciesCommand.class,
            PoliciesCommand.Delete.class,
            PoliciesCommand.History.class,
            RestorePolicyCommand.class,
            ImportEnvoyCommand.class,
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
public final class PoliciesCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new picocli.CommandLine.ParameterException(
                spec.commandLine(),
                "a subcommand is missing: validate, apply, list, get, export, delete, history, restore, import-envoy or"
                        + " reset");
    }

    @Command(
            name = "validate",
            mixinStandardHelpOptions = true,
            description = {
                "Checks a policy file without a cluster.",
                "Prints each fault with its line. Policies can refer only to queues of the file."
            })
    static final class Validate implements Callable<Integer> {

        @Mixin
        private PolicyFileArgument file;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            PolicyFile.Contents contents = file.read();
            int queues = contents.queues().size();
            spec.commandLine()
                    .getOut()
                    .printf(
                            "%s: %s%s, no faults%n",
                            file.name(),
                            count(contents.policies().size(), "policy", "policies"),
                            queues == 0 ? "" : ", " + count(queues, "queue", "queues"));
            PolicyWarnings.ofFile(contents, System.currentTimeMillis())
                    .forEach(warning ->
                            spec.commandLine().getOut().printf("%s: warning: %s%n", file.name(), SafeText.of(warning)));
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

        @Mixin
        private PolicyFileArgument file;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            WeirConfig config = cluster.read();
            PolicyTopic topic = new PolicyTopic(config);
            PolicyFile.Contents contents = file.read(() -> {
                cluster.requireBrokers(config);
                return topic.queues();
            });
            cluster.requireBrokers(config);
            PolicyTopic.Options options = PolicyTopic.Options.DEFAULTS
                    .withPrune(prune)
                    .withDryRun(dryRun)
                    .withChangedBy(author.changedBy());
            PrintWriter out = spec.commandLine().getOut();
            long nowMs = System.currentTimeMillis();
            PolicyChangePrinter.print(out, topic.apply(contents, options, nowMs));
            if (dryRun) {
                MissingKeyFields.of(RequestSample.read(config), contents.table(), Set.of(), nowMs).values().stream()
                        .flatMap(List::stream)
                        .forEach(warning -> out.printf("warning: %s%n", SafeText.of(warning)));
                out.println(PolicyChangePrinter.DRY_RUN);
            }
            return 0;
        }
    }

    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = {
                "Lists the policies and queues in force, and scheduled versions.",
                "Policies come first. Both are sorted by id."
            })
    static final class ListAll implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Mixin
        private OutputOption output;

        @Override
        public Integer call() throws FaultsException {
            ObjectNode found = Json.MAPPER.createObjectNode();
            ArrayNode policies = found.putArray("policies");
            ArrayNode queues = found.putArray("queues");
            new PolicyTopic(cluster.connect())
                    .readInForceFrom(System.currentTimeMillis())
                    .forEach(applied -> (applied.kind() == PolicyAvro.Kind.QUEUE ? queues : policies)
                            .add(JsonViews.applied(applied)));
            output.print(found, ListAll::print);
            return 0;
        }

        private static void print(JsonNode found, PrintWriter out) {
            TextTable table = new TextTable("KIND", "ID", "VERSION", "DEFINITION");
            found.get("policies").forEach(policy -> add("policy", policy, table));
            found.get("queues").forEach(queue -> add("queue", queue, table));
            table.print(out, "no policies and no queues");
        }

        private static void add(String kind, JsonNode applied, TextTable table) {
            table.add(
                    kind,
                    applied.get("id").asText(),
                    applied.get("version").asText(),
                    applied.get("definition").toString());
        }
    }

    @Command(
            name = "delete",
            mixinStandardHelpOptions = true,
            description = {
                "Deletes policies or queues.",
                "A deleted queue denies new requests; waiting requests are released under its last definition."
            })
    static final class Delete implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Mixin
        private AuthorOptions author;

        @Mixin
        private KindOption queue;

        @Parameters(paramLabel = "ID", arity = "1..*", description = "The ids of the policies or queues.")
        private List<String> ids;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            PolicyAvro.Kind kind = queue.kind();
            List<PolicyTopic.Change> changes = new PolicyTopic(cluster.connect())
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
                "EFFECTIVE FROM is - if the version applied at once. A deletion is a version."
            })
    static final class History implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Mixin
        private KindOption queue;

        @Parameters(paramLabel = "ID", description = "The id of the policy or queue.")
        private String id;

        @Mixin
        private OutputOption output;

        @Override
        public Integer call() throws FaultsException {
            PolicyAvro.Kind kind = queue.kind();
            List<PolicyAvro.Applied> versions = new PolicyTopic(cluster.connect()).history(kind, id);
            if (versions.isEmpty()) {
                throw new InputException("no " + kind.word() + " " + id, null);
            }
            ObjectNode found = Json.MAPPER.createObjectNode().put("id", id);
            ArrayNode list = found.putArray("versions");
            versions.forEach(version -> list.add(JsonViews.applied(version)));
            output.print(found, History::print);
            return 0;
        }

        private static void print(JsonNode found, PrintWriter out) {
            TextTable table =
                    new TextTable("VERSION", "CHANGED AT", "EFFECTIVE FROM", "AUTHOR", "REASON", "DEFINITION");
            for (JsonNode version : found.get("versions")) {
                JsonNode definition = version.get("definition");
                table.add(
                        version.get("version").asText(),
                        Instant.ofEpochMilli(version.get("appliedAt").asLong()).toString(),
                        TextTable.orDash(definition.path("effective-from")),
                        TextTable.orDash(version.get("author")),
                        TextTable.orDash(version.get("reason")),
                        definition.isNull() ? "deleted" : definition.toString());
            }
            table.print(out, "");
        }
    }
}
