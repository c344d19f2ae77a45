package dev.weir.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.cli.option.OutputOption;
import dev.weir.cli.output.TextTable;
import dev.weir.config.WeirConfig;
import dev.weir.console.ClusterOptions;
import dev.weir.console.InputException;
import dev.weir.deadletter.DeadLetterJson;
import dev.weir.deadletter.DeadLetterList;
import dev.weir.deadletter.DeadLetterPosition;
import dev.weir.deadletter.DeadLetterReplay;
import dev.weir.fault.FaultsException;
import dev.weir.fault.SafeText;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "dead-letters",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = "Lists records that Weir rejected, and sends them again.",
        subcommands = {DeadLettersCommand.ListNewest.class, DeadLettersCommand.Replay.class})
final class DeadLettersCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new CommandLine.ParameterException(spec.commandLine(), "a subcommand is missing: list or replay");
    }

    /** @param reason null for any */
    private static String checked(String reason) {
        try {
            return reason == null ? null : DeadLetterList.requireReason(reason);
        } catch (IllegalArgumentException e) {
            throw new InputException("--reason: " + e.getMessage(), e);
        }
    }

    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = {
                "Lists the newest dead letters, newest first.",
                "POSITION is the partition and offset of the dead letter, SOURCE the topic, partition and offset of the"
                        + " rejected record."
            },
            footer = {"", "Example:", "  weir dead-letters list --reason NOT_JSON --most 5"})
    static final class ListNewest implements Callable<Integer> {

        private static final int MAX_LETTERS = 1_000;
        private static final int SHOWN_VALUE = 60;

        @Mixin
        private ClusterOptions cluster;

        @Option(names = "--reason", paramLabel = "REASON", description = "List only the dead letters with this reason.")
        private String reason;

        @Option(
                names = "--most",
                paramLabel = "N",
                defaultValue = "20",
                description = "The maximum number of dead letters, 1 to 1000 (default: ${DEFAULT-VALUE}).")
        private int most;

        @Mixin
        private OutputOption output;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            if (most < 1 || most > MAX_LETTERS) {
                throw new CommandLine.ParameterException(
                        spec.commandLine(), "--most must be 1 to " + MAX_LETTERS + ", is " + most);
            }
            String wanted = checked(reason);
            DeadLetterList found = DeadLetterList.read(cluster.connect(), wanted, most);
            output.print(DeadLetterJson.of(found), this::print);
            return 0;
        }

        private void print(JsonNode found, PrintWriter out) {
            TextTable table = new TextTable("POSITION", "TIME", "REASON", "SOURCE", "KEY", "VALUE", "DETAIL");
            found.get("deadLetters").forEach(letter -> add(letter, table));
            table.print(out, reason == null ? "no dead letters" : "no dead letters with the reason " + reason);
            if (!found.get("complete").asBoolean()) {
                spec.commandLine().getErr().println("there are older dead letters");
            }
        }

        private static void add(JsonNode letter, TextTable table) {
            table.add(
                    letter.get("position").asText(),
                    Instant.ofEpochMilli(letter.get("timestamp").asLong()).toString(),
                    TextTable.orDash(letter.get("reason")),
                    letter.get("sourceTopic").isNull()
                            ? "-"
                            : letter.get("sourceTopic").asText() + ":"
                                    + letter.get("sourcePosition").asText(),
                    shown(letter.get("key")),
                    shown(letter.get("value")),
                    TextTable.orDash(letter.get("detail")));
        }

        private static String shown(JsonNode content) {
            if (content.isNull()) {
                return "-";
            }
            JsonNode text = content.get("text");
            return text.isNull() ? content.get("size") + " bytes" : SafeText.of(text.asText(), SHOWN_VALUE);
        }
    }

    @Command(
            name = "replay",
            mixinStandardHelpOptions = true,
            description = {
                "Writes dead letters to the request topic again.",
                "The requests are decided and charged like new ones. What is still invalid becomes a dead letter again."
                        + " What was replayed before is skipped, and so is what a replayed request became when it was"
                        + " rejected again. Dead letters that are not requests are skipped."
            },
            footer = {
                "",
                "Examples:",
                "  weir dead-letters replay 0:42 3:7",
                "  weir dead-letters replay --all --reason MISPLACED"
            })
    static final class Replay implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Parameters(
                paramLabel = "POSITION",
                arity = "0..*",
                description = "The partition and offset of a dead letter, as listed by: weir dead-letters list.")
        private List<String> positions = List.of();

        @Option(
                names = "--again",
                description = "Also replay what was replayed before. It is charged twice, unless its policies have"
                        + " idempotency.")
        private boolean again;

        @Option(names = "--all", description = "Replay all dead letters that are on the topic now.")
        private boolean all;

        @Option(
                names = "--reason",
                paramLabel = "REASON",
                description = "With --all: replay only the dead letters with this reason.")
        private String reason;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            if (all == !positions.isEmpty()) {
                throw wrongUsage("name the positions of dead letters, or use --all");
            }
            if (reason != null && !all) {
                throw wrongUsage("--reason needs --all");
            }
            Set<DeadLetterPosition> wanted = positions();
            WeirConfig config = cluster.connect();
            DeadLetterReplay.Result result = all
                    ? DeadLetterReplay.replayAll(config, checked(reason), again)
                    : DeadLetterReplay.replay(config, wanted, again);
            print(result);
            return 0;
        }

        private Set<DeadLetterPosition> positions() {
            Set<DeadLetterPosition> wanted = new LinkedHashSet<>();
            for (String position : positions) {
                try {
                    wanted.add(DeadLetterPosition.parse(position));
                } catch (IllegalArgumentException e) {
                    throw wrongUsage(e.getMessage());
                }
            }
            return wanted;
        }

        private CommandLine.ParameterException wrongUsage(String why) {
            return new CommandLine.ParameterException(spec.commandLine(), why);
        }

        private void print(DeadLetterReplay.Result result) {
            PrintWriter err = spec.commandLine().getErr();
            result.firstSkipped()
                    .forEach(skipped ->
                            err.println("skipped " + skipped.position() + ": " + SafeText.of(skipped.why())));
            long before = all ? result.replayedBefore() : 0;
            if (before > 0) {
                err.println("skipped " + before + " that were replayed before; to replay them again, add --again");
            }
            long unnamed = result.skipped() - before - result.firstSkipped().size();
            if (unnamed > 0) {
                err.println("skipped " + unnamed + " more");
            }
            spec.commandLine().getOut().println(result.replayed() + " replayed, " + result.skipped() + " skipped");
        }
    }
}
