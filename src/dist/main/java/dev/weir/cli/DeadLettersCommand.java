package dev.weir.cli;

import dev.weir.config.WeirConfig;
import dev.weir.deadletter.DeadLetter;
import dev.weir.deadletter.DeadLetterJson;
import dev.weir.deadletter.DeadLetterList;
import dev.weir.deadletter.DeadLetterPosition;
import dev.weir.deadletter.DeadLetterReplay;
import dev.weir.deadletter.RecordPreview;
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

        @Option(names = "--json", description = "Print JSON, with the first 1,024 bytes of each key and value.")
        private boolean json;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws FaultsException {
            if (most < 1 || most > MAX_LETTERS) {
                throw new CommandLine.ParameterException(
                        spec.commandLine(), "--most must be 1 to " + MAX_LETTERS + ", is " + most);
            }
            DeadLetterList found = DeadLetterList.read(cluster.read(), checked(reason), most);
            PrintWriter out = spec.commandLine().getOut();
            if (json) {
                out.println(SafeText.of(DeadLetterJson.of(found).toString()));
                return 0;
            }
            TextTable table = new TextTable("POSITION", "TIME", "REASON", "SOURCE", "KEY", "VALUE", "DETAIL");
            found.newestFirst().forEach(letter -> add(letter, table));
            table.print(out, reason == null ? "no dead letters" : "no dead letters with the reason " + reason);
            if (!found.isComplete()) {
                spec.commandLine().getErr().println("there are older dead letters");
            }
            return 0;
        }

        private static void add(DeadLetter letter, TextTable table) {
            table.add(
                    letter.position().toString(),
                    Instant.ofEpochMilli(letter.timestampMs()).toString(),
                    orDash(letter.reason()),
                    letter.source() == null ? "-" : SafeText.of(letter.source().toString()),
                    shown(letter.key()),
                    shown(letter.value()),
                    orDash(letter.detail()));
        }

        private static String shown(RecordPreview content) {
            if (content == null) {
                return "-";
            }
            return content.text() == null ? content.size() + " bytes" : SafeText.of(content.text(), SHOWN_VALUE);
        }

        private static String orDash(String text) {
            return text == null ? "-" : SafeText.of(text);
        }
    }

    @Command(
            name = "replay",
            mixinStandardHelpOptions = true,
            description = {
                "Writes dead letters to the request topic again.",
                "The requests are decided and charged like new ones. What is still invalid becomes a dead letter again."
                        + " A dead letter that is replayed twice is charged twice, unless its policies have"
                        + " idempotency. Dead letters that are not requests are skipped."
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
            WeirConfig config = cluster.read();
            DeadLetterReplay.Result result =
                    all ? DeadLetterReplay.replayAll(config, checked(reason)) : DeadLetterReplay.replay(config, wanted);
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
            long unnamed = result.skipped() - result.firstSkipped().size();
            if (unnamed > 0) {
                err.println("skipped " + unnamed + " more");
            }
            spec.commandLine().getOut().println(result.replayed() + " replayed, " + result.skipped() + " skipped");
        }
    }
}
