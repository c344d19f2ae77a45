package dev.weir.cli;

import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.topics.TopicReader;
import dev.weir.wire.DecisionJson;
import dev.weir.wire.NdjsonWriter;
import dev.weir.wire.ReleaseJson;
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
        description = "Prints what Weir writes, as it comes.",
        subcommands = {WatchCommand.Decisions.class, WatchCommand.Releases.class})
final class WatchCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new picocli.CommandLine.ParameterException(spec.commandLine(), "what? decisions or releases");
    }

    /**
     * Prints at once: somebody is watching.
     *
     * @throws OutputException if nobody is any more
     */
    static <T> void print(CommandSpec spec, NdjsonWriter<T> out, T value) {
        try {
            out.write(value);
            out.flush();
        } catch (IOException e) {
            throw new OutputException(e);
        }
        OutputException.check(spec.commandLine().getOut());
    }

    /** Watches one topic, whichever. */
    private abstract static class TopicCommand<T> implements Callable<Integer> {

        @Mixin
        private ClusterOptions cluster;

        @Option(names = "--from-beginning", description = "Begin with the oldest on the topic.")
        private boolean fromBeginning;

        @Option(names = "--uncommitted", description = "Show them a commit earlier; after a crash some may show twice.")
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

        abstract TopicReader<T> open(WeirConfig config, TopicReader.From from, boolean committed);

        abstract NdjsonWriter<T> writer(Writer out) throws IOException;

        abstract String client(T value);

        /** Whether it is one of those that the options of its own ask for. */
        boolean isSelected(T value) {
            return true;
        }

        @Override
        public Integer call() throws Exception {
            TopicReader.From from = fromBeginning ? TopicReader.From.BEGINNING : TopicReader.From.END;
            NdjsonWriter<T> out = writer(spec.commandLine().getOut());
            long[] left = {count == null ? Long.MAX_VALUE : count};
            try (TopicReader<T> reader = open(cluster.read(), from, !uncommitted)) {
                while (left[0] > 0) {
                    reader.poll(Duration.ofMillis(200), value -> {
                        if (left[0] > 0 && (client == null || client.equals(client(value))) && isSelected(value)) {
                            print(spec, out, value);
                            left[0]--;
                        }
                    });
                }
            }
            return 0;
        }
    }

    @Command(
            name = "decisions",
            mixinStandardHelpOptions = true,
            description = "Prints decisions as NDJSON until it is stopped.",
            footer = {"", "Example:", "  weir watch decisions --client alice"})
    static final class Decisions extends TopicCommand<Decision> {

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
    }

    @Command(
            name = "releases",
            mixinStandardHelpOptions = true,
            description =
                    "Prints releases as NDJSON until it is stopped, as soon as they are written, which may be before their releaseAt.",
            footer = {"", "Example:", "  weir watch releases --queue sms"})
    static final class Releases extends TopicCommand<Release> {

        @Option(names = "--queue", paramLabel = "QUEUE", description = "Only those of one queue.")
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
