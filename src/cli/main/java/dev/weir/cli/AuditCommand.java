package dev.weir.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.audit.Audit;
import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.cli.option.DurationConverter;
import dev.weir.cli.option.OutputOption;
import dev.weir.config.WeirConfig;
import dev.weir.console.ClusterOptions;
import dev.weir.console.InputException;
import dev.weir.event.Request;
import dev.weir.fault.SafeText;
import dev.weir.wire.json.Json;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "audit",
        mixinStandardHelpOptions = true,
        exitCodeOnExecutionException = 2, // 1 means that there are mismatches
        description = {
            "Recomputes past decisions and reports mismatches.",
            "Reads the topics of a cluster, and prints each decision that differs from the recomputed one, is missing,"
                    + " or was made twice. It changes nothing."
        },
        footer = {
            "",
            "Use the configuration of `weir run`. The audit reads each partition from its oldest request, also with"
                    + " --from, because earlier usage counts.",
            "Exit codes: 0 without mismatches, 1 with mismatches, 2 if the audit failed.",
            "More: topology-docs/how-to/audit.md",
            "",
            "Examples:",
            "  weir audit -c weir.yaml",
            "  weir audit --from 2026-11-21T00:00:00Z --to 2026-11-22T00:00:00Z -o json"
        })
final class AuditCommand implements Callable<Integer> {

    @Mixin
    private ClusterOptions cluster;

    @Option(
            names = "--from",
            paramLabel = "TIME",
            description = {
                "Audit requests from this time on, for example",
                "2026-11-21T00:00:00Z (default: all that are retained)."
            })
    private Instant from;

    @Option(names = "--to", paramLabel = "TIME", description = "Audit requests before this time (default: all).")
    private Instant to;

    @Option(
            names = "--lag",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "30s",
            description = "How long after a policy change an instance may still have used the version before"
                    + " (default: ${DEFAULT-VALUE}).")
    private Duration lag;

    @Option(
            names = "--max-mismatches",
            paramLabel = "N",
            defaultValue = "100",
            description = "Print at most this many mismatches. All are counted (default: ${DEFAULT-VALUE}).")
    private long maxMismatches;

    @Mixin
    private OutputOption output;

    @Spec
    private CommandSpec spec;

    private final ArrayNode firstMismatches = Json.MAPPER.createArrayNode();

    @Override
    public Integer call() throws Exception {
        if (maxMismatches < 0) {
            throw new InputException("--max-mismatches must be 0 or more, is " + maxMismatches, null);
        }
        if (from != null && to != null && !from.isBefore(to)) {
            throw new InputException("--from must be before --to", null);
        }
        WeirConfig config = cluster.connect();
        PrintWriter out = spec.commandLine().getOut();
        AuditSummary totals = Audit.run(config, new AuditRange(from, to, lag), mismatch -> add(mismatch, out));
        output.print(tree(totals).set("firstMismatches", firstMismatches), (tree, table) -> print(totals, table));
        return totals.mismatchCount() == 0 ? 0 : 1;
    }

    private void add(Mismatch mismatch, PrintWriter out) {
        if (firstMismatches.size() == maxMismatches) {
            return;
        }
        firstMismatches.add(tree(mismatch));
        if (output.isTable()) {
            out.println(SafeText.of(line(mismatch)));
            for (Mismatch.FieldMismatch field : mismatch.fields()) {
                out.println("    "
                        + SafeText.of(field.name() + " is " + field.recorded() + ", should be " + field.expected()));
            }
        }
    }

    private static String line(Mismatch mismatch) {
        StringBuilder line = new StringBuilder();
        Request.Source request = mismatch.request();
        if (request != null) {
            line.append("request ").append(request.partition()).append('@').append(request.offset());
        }
        if (mismatch.answer() != null) {
            line.append(line.isEmpty() ? "" : ", ").append(mismatch.answer());
        }
        if (mismatch.client() != null) {
            line.append(", client ").append(mismatch.client()).append(", ").append(mismatch.requestId());
        }
        line.append(": ").append(mismatch.kind().text());
        return mismatch.note() == null
                ? line.toString()
                : line.append(" (").append(mismatch.note()).append(')').toString();
    }

    private static ObjectNode tree(Mismatch mismatch) {
        ObjectNode object =
                Json.MAPPER.createObjectNode().put("mismatch", mismatch.kind().name());
        if (mismatch.request() != null) {
            object.put("sourcePartition", mismatch.request().partition())
                    .put("sourceOffset", mismatch.request().offset());
        }
        if (mismatch.answer() != null) {
            object.put(
                            "topic",
                            mismatch.answer()
                                    .topic()
                                    .name()
                                    .toLowerCase(Locale.ROOT)
                                    .replace('_', '-'))
                    .put("partition", mismatch.answer().partition())
                    .put("offset", mismatch.answer().offset());
        }
        object.put("client", mismatch.client()).put("requestId", mismatch.requestId());
        ObjectNode fields = object.putObject("fields");
        for (Mismatch.FieldMismatch field : mismatch.fields()) {
            fields.putObject(field.name())
                    .<ObjectNode>set("recorded", Json.read(field.recorded()))
                    .set("expected", Json.read(field.expected()));
        }
        return object.put("note", mismatch.note());
    }

    private static ObjectNode tree(AuditSummary totals) {
        ObjectNode object = Json.MAPPER
                .createObjectNode()
                .put("requests", totals.requests())
                .put("deadLetters", totals.deadLetters())
                .put("decisions", totals.decisions())
                .put("equal", totals.equal())
                .put("sentToQueue", totals.sentToQueue())
                .put("summed", totals.summed())
                .put("reportedByClients", totals.reportedByClients())
                .put("mismatches", totals.mismatchCount());
        ObjectNode kinds = object.putObject("mismatchesByKind");
        totals.mismatches().forEach((kind, count) -> kinds.put(kind.name(), count));
        ObjectNode unjudged = object.putObject("notJudged");
        totals.unverified().forEach((why, count) -> unjudged.put(why.name(), count));
        return object;
    }

    private void print(AuditSummary totals, PrintWriter out) {
        long more = totals.mismatchCount() - firstMismatches.size();
        if (more > 0) {
            out.printf("… and %,d more%n", more);
        }
        if (totals.mismatchCount() > 0) {
            out.println();
        }
        line(out, totals.requests(), "requests");
        line(out, totals.deadLetters(), "dead letters");
        line(out, totals.decisions(), "decisions");
        line(out, totals.equal(), "decisions equal to the recomputed ones");
        line(out, totals.sentToQueue(), "requests sent to the recomputed queue");
        line(out, totals.summed(), "decisions in the totals of shared limits");
        line(out, totals.reportedByClients(), "  reported by leased clients");
        totals.unverified().forEach((why, count) -> line(out, count, "not judged: " + why.text()));
        line(out, totals.mismatchCount(), "mismatches");
        totals.mismatches().forEach((kind, count) -> line(out, count, "  " + kind.text()));
    }

    private static void line(PrintWriter out, long count, String what) {
        out.printf(Locale.ROOT, "%,13d  %s%n", count, what);
    }
}
