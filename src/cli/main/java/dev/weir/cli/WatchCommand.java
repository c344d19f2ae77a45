package dev.weir.cli;

import dev.weir.cli.option.DecisionFilterOptions;
import dev.weir.cli.option.DurationConverter;
import dev.weir.cli.output.OutageReport;
import dev.weir.config.WeirConfig;
import dev.weir.console.ClusterOptions;
import dev.weir.console.OutputException;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.topics.TopicReader;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.NdjsonWriter;
import dev.weir.wire.json.ReleaseJson;
import java.io.IOException;
import java.io.Writer;
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
        description = "Prints decisions or releases as they are written.",
        subcommands = {WatchCommand.Decisions.class, WatchCommand.Releases.class})
final class WatchCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new picocli.CommandLine.ParameterException(
                spec.commandLine(), "a subcommand is missing: decisions or releases");
    }

    /**
     * Prints a value and flushes the output.
     *
     * @throws OutputException if standard output cannot be written
     */
    static <T> void print(NdjsonWriter<T> out, T value) {
        try {
            out.write(value);
            out.flush();
        } catch (IOException e) {
            throw new OutputException(e);
        }
    }

    /** A command that prints the records of one topic. */
    private abstract static class TopicCommand<T> implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Option(
                names = "--from-beginning",
                description = "Start with the oldest record of the topic (default: with new records).")
        private boolean fromBeginning;

        @Option(
                names = "--uncommitted",
                description = "Print records before they are committed. After a crash, some can be printed twice.")
        private boolean uncommitted;

        @Option(names = "--client", paramLabel = "CLIENT", description = "Print only the records of this client.")
        private String client;

        @Option(
                names = {"-n", "--count"},
                paramLabel = "N",
                description = "Exit after this many records (default: run until stopped).")
        private Long count;

        @Option(
                names = "--timeout",
                paramLabel = "DURATION",
                converter = DurationConverter.class,
                description = "Exit after this time, such as 30s; with --count, the exit code is then 1"
                        + " (default: run until stopped).")
        private Duration timeout;

        @Spec
        private CommandSpec spec;

        abstract TopicReader<T> open(WeirConfig config, TopicReader.From from, boolean committed);

        abstract NdjsonWriter<T> writer(Writer out) throws IOException;

        abstract String client(T value);

        /** Returns whether the options of the subcommand select a value. */
        boolean isSelected(T value) {
            return true;
        }

        @Override
        public Integer call() throws Exception {
            TopicReader.From from = fromBeginning ? TopicReader.From.BEGINNING : TopicReader.From.END;
            NdjsonWriter<T> out = writer(spec.commandLine().getOut());
            long[] left = {count == null ? Long.MAX_VALUE : count};
            WeirConfig config = cluster.connect();
            OutageReport outages = new OutageReport(config, spec.commandLine().getErr(), spec.qualifiedName());
            try (TopicReader<T> reader = open(config, from, !uncommitted)) {
                long startNanos = System.nanoTime();
                while (left[0] > 0 && !isOver(startNanos)) {
                    reader.poll(Duration.ofMillis(200), value -> {
                        if (left[0] > 0 && (client == null || client.equals(client(value))) && isSelected(value)) {
                            print(out, value);
                            left[0]--;
                        }
                    });
                    outages.polled(reader.fetches());
                }
            }
            return count == null || left[0] <= 0 ? 0 : timedOut(count - left[0]);
        }

        private boolean isOver(long startNanos) {
            return timeout != null && System.nanoTime() - startNanos >= timeout.toNanos();
        }

        private int timedOut(long printed) {
            spec.commandLine()
                    .getErr()
                    .printf(
                            "%s: timed out after %s; %d of %d records were there%n",
                            spec.qualifiedName(), DurationsAndSizes.duration(timeout.toMillis()), printed, count);
            return 1;
        }
    }

    @Command(
            name = "decisions",
            mixinStandardHelpOptions = true,
            description = "Prints decisions as NDJSON until it is stopped.",
            footer = {
                "",
                "Examples:",
                "  weir watch decisions --client alice",
                "  weir watch decisions --outcome denied,expired --policy free-articles --from-beginning"
            })
    static final class Decisions extends TopicCommand<Decision> {

        @Mixin
        private DecisionFilterOptions filter;

        @Override
        TopicReader<Decision> open(WeirConfig config, TopicReader.From from, boolean committed) {
            return TopicReader.decisions(config, from, committed);
        }

        @Override
        NdjsonWriter<Decision> writer(Writer out) throws IOException {
            return new DecisionJson(out);
        }

        @Override
        String client(Decision decision) {
            return decision.client();
        }

        @Override
        boolean isSelected(Decision decision) {
            return filter.filter().passes(decision);
        }
    }

    @Command(
            name = "releases",
            mixinStandardHelpOptions = true,
            description = {
                "Prints releases as NDJSON until it is stopped.",
                "A release can be printed before its releaseAt."
            },
            footer = {"", "Example:", "  weir watch releases --queue sms"})
    static final class Releases extends TopicCommand<Release> {

        @Option(names = "--queue", paramLabel = "QUEUE", description = "Print only the releases of this queue.")
        private String queue;

        @Override
        TopicReader<Release> open(WeirConfig config, TopicReader.From from, boolean committed) {
            return TopicReader.releases(config, from, committed);
        }

        @Override
        NdjsonWriter<Release> writer(Writer out) throws IOException {
            return new ReleaseJson(out);
        }

        @Override
        String client(Release release) {
            return release.client();
        }

        @Override
        boolean isSelected(Release release) {
            return queue == null || queue.equals(release.queue());
        }
    }
}
