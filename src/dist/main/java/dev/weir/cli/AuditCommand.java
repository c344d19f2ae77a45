package dev.weir.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.audit.Audit;
import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.fault.SafeText;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.wire.Json;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

@Command(
        name = "audit",
        mixinStandardHelpOptions = true,
        exitCodeOnExecutionException = 2, // 1 says that something differs
        description = {
            "Decides anew what a cluster has decided, from its topics, and prints each decision that differs,",
            "is missing, or is one too many. It changes nothing."
        },
        footer = {
            "",
            "Give it the configuration that `weir run` has. It reads from the oldest request on, whatever it judges, since",
            "what was used before counts. topology-docs/audit.md tells what is judged, and when.",
            "Exit code: 0 if nothing differs, 1 if something does, 2 if that cannot be told.",
            "",
            "Examples:",
            "  weir audit -c weir.yaml",
            "  weir audit --from 2026-11-21T00:00:00Z --to 2026-11-22T00:00:00Z --json"
        })
final class AuditCommand implements Callable<Integer> {

    @Mixin
    private ClusterOptions cluster;

    @Option(
            names = "--from",
            paramLabel = "TIME",
            description =
                    "Judge requests of this time and later, such as 2026-11-21T00:00:00Z (default: all that are retained).")
    private Instant from;

    @Option(names = "--to", paramLabel = "TIME", description = "Judge requests before this time (default: all).")
    private Instant to;

    @Option(
            names = "--lag",
            paramLabel = "DURATION",
            converter = Milliseconds.class,
            defaultValue = "30s",
            description = "How long after a change of rules an instance may still decide by those before"
                    + " (default: ${DEFAULT-VALUE}).")
    private Duration lag;

    @Option(
            names = "--most",
            paramLabel = "N",
            defaultValue = "100",
            description = "Print so many differences at most; all are counted (default: ${DEFAULT-VALUE}).")
    private long most;

    @Option(
            names = "--json",
            description = "Print a JSON object for each difference, one a line, and one for the counts.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    private long printed;

    static final class Milliseconds implements ITypeConverter<Duration> {
        @Override
        public Duration convert(String text) {
            try {
                return Duration.ofMillis(DurationsAndSizes.durationMs(text));
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(e.getMessage());
            }
        }
    }

    @Override
    public Integer call() throws Exception {
        if (most < 0) {
            throw new InputException("--most must be 0 or more, is " + most, null);
        }
        if (from != null && to != null && !from.isBefore(to)) {
            throw new InputException("--from must be before --to", null);
        }
        WeirConfig config = cluster.read();
        PrintWriter out = spec.commandLine().getOut();
        AuditSummary totals = Audit.run(config, new AuditRange(from, to, lag), difference -> print(difference, out));
        if (json) {
            out.println(SafeText.of(Json.write(json(totals))));
        } else {
            print(totals, out);
        }
        OutputException.check(out);
        return totals.mismatchCount() == 0 ? 0 : 1;
    }

    private void print(Mismatch difference, PrintWriter out) {
        if (printed == most) {
            return;
        }
        printed++;
        if (json) {
            out.println(SafeText.of(Json.write(json(difference))));
        } else {
            out.println(SafeText.of(line(difference)));
            for (Mismatch.FieldMismatch field : difference.fields()) {
                out.println("    "
                        + SafeText.of(field.name() + " is " + field.recorded() + ", should be " + field.expected()));
            }
        }
    }

    private static String line(Mismatch difference) {
        StringBuilder line = new StringBuilder();
        Request.Source request = difference.request();
        if (request != null) {
            line.append("request ").append(request.partition()).append('@').append(request.offset());
        }
        if (difference.answer() != null) {
            line.append(line.isEmpty() ? "" : ", ").append(difference.answer());
        }
        if (difference.client() != null) {
            line.append(", client ").append(difference.client()).append(", ").append(difference.requestId());
        }
        line.append(": ").append(difference.kind().text());
        return difference.note() == null
                ? line.toString()
                : line.append(" (").append(difference.note()).append(')').toString();
    }

    private static ObjectNode json(Mismatch difference) {
        ObjectNode object = Json.MAPPER
                .createObjectNode()
                .put("difference", difference.kind().name());
        if (difference.request() != null) {
            object.put("sourcePartition", difference.request().partition())
                    .put("sourceOffset", difference.request().offset());
        }
        if (difference.answer() != null) {
            object.put(
                            "topic",
                            difference
                                    .answer()
                                    .topic()
                                    .name()
                                    .toLowerCase(Locale.ROOT)
                                    .replace('_', '-'))
                    .put("partition", difference.answer().partition())
                    .put("offset", difference.answer().offset());
        }
        object.put("client", difference.client()).put("requestId", difference.requestId());
        ObjectNode fields = object.putObject("fields");
        for (Mismatch.FieldMismatch field : difference.fields()) {
            fields.putObject(field.name())
                    .<ObjectNode>set("told", Json.read(field.recorded()))
                    .set("expected", Json.read(field.expected()));
        }
        return object.put("note", difference.note());
    }

    private static ObjectNode json(AuditSummary totals) {
        ObjectNode object = Json.MAPPER
                .createObjectNode()
                .put("requests", totals.requests())
                .put("deadLetters", totals.deadLetters())
                .put("decisions", totals.decisions())
                .put("equal", totals.equal())
                .put("sentToQueue", totals.sentToQueue())
                .put("summed", totals.summed())
                .put("summedByClients", totals.summedByClients())
                .put("differing", totals.mismatchCount());
        ObjectNode differences = object.putObject("differences");
        totals.mismatches().forEach((kind, count) -> differences.put(kind.name(), count));
        ObjectNode unjudged = object.putObject("notJudged");
        totals.unverified().forEach((why, count) -> unjudged.put(why.name(), count));
        return object;
    }

    private void print(AuditSummary totals, PrintWriter out) {
        if (totals.mismatchCount() > printed) {
            out.printf("… and %,d more%n", totals.mismatchCount() - printed);
        }
        if (totals.mismatchCount() > 0) {
            out.println();
        }
        line(out, totals.requests(), "requests");
        line(out, totals.deadLetters(), "dead letters");
        line(out, totals.decisions(), "decisions");
        line(out, totals.equal(), "as recomputed, in every field");
        line(out, totals.sentToQueue(), "sent to a queue, as recomputed");
        line(out, totals.summed(), "in the sums of shared quotas");
        line(out, totals.summedByClients(), "  told by clients that decide by themselves");
        totals.unverified().forEach((why, count) -> line(out, count, "not judged: " + why.text()));
        line(out, totals.mismatchCount(), "differences");
        totals.mismatches().forEach((kind, count) -> line(out, count, "  " + kind.text()));
    }

    private static void line(PrintWriter out, long count, String what) {
        out.printf(Locale.ROOT, "%,13d  %s%n", count, what);
    }
}
