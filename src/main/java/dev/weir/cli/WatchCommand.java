package dev.weir.cli;

import dev.weir.app.DecisionReader;
import dev.weir.codec.DecisionJson;
import dev.weir.policy.Decision;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "watch",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "COMMAND",
        description = "Prints what Weir writes, as it comes.",
        subcommands = WatchCommand.Decisions.class)
final class WatchCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new picocli.CommandLine.ParameterException(spec.commandLine(), "what? decisions");
    }

    /**
     * Prints at once: somebody is watching.
     *
     * @throws OutputException if nobody is any more
     */
    static void print(CommandSpec spec, DecisionJson out, Decision decision) {
        try {
            out.write(decision);
            out.flush();
        } catch (IOException e) {
            throw new OutputException(e);
        }
        OutputException.check(spec.commandLine().getOut());
    }

    @Command(
            name = "decisions",
            mixinStandardHelpOptions = true,
            description = "Prints decisions as NDJSON until it is stopped.",
            footer = {"", "Example:", "  weir watch decisions --client alice"})
    static final class Decisions implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Option(names = "--from-beginning", description = "Begin with the oldest decision on the topic.")
        private boolean fromBeginning;

        @Option(
                names = "--uncommitted",
                description = "Show decisions a commit earlier; after a crash some may show twice.")
        private boolean uncommitted;

        @Option(names = "--client", paramLabel = "CLIENT", description = "Only those of one client.")
        private String client;

        @Option(
                names = {"-n", "--count"},
                paramLabel = "N",
                description = "Stop after so many.")
        private Long count;

        @Spec
        private CommandSpec spec;

        @Override
        public Integer call() throws Exception {
            DecisionReader.From from = fromBeginning ? DecisionReader.From.BEGINNING : DecisionReader.From.END;
            DecisionJson out = new DecisionJson(spec.commandLine().getOut());
            long[] left = {count == null ? Long.MAX_VALUE : count};
            try (DecisionReader decisions = new DecisionReader(cluster.read(), from, !uncommitted)) {
                while (left[0] > 0) {
                    decisions.poll(Duration.ofMillis(200), decision -> {
                        if (left[0] > 0 && (client == null || client.equals(decision.client()))) {
                            print(spec, out, decision);
                            left[0]--;
                        }
                    });
                }
            }
            return 0;
        }
    }
}
