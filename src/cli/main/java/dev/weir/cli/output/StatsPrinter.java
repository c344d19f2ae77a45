package dev.weir.cli.output;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.fault.SafeText;
import dev.weir.policy.DurationsAndSizes;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** Prints the counts of a {@link StatsTree} as tables. */
public final class StatsPrinter {

    private final PrintWriter out;

    public StatsPrinter(PrintWriter out) {
        this.out = out;
    }

    public void print(JsonNode stats) {
        heading("");
        counts("all requests", stats);
        heading("by policy");
        stats.get("policies").forEach(policy -> counts(policy.get("policy").asText(), policy));
        heading("by tier");
        stats.get("tiers").forEach(tier -> counts(tier.get("tier").asText(), tier));
        stats.get("queues").forEach(this::queue);
        if (!stats.get("clients").isEmpty()) {
            out.println();
            out.printf("%-40s %9s%n", "most limited clients", "denied");
            for (JsonNode client : stats.get("clients")) {
                out.printf(
                        "  %-38s %,9d%n",
                        SafeText.of(client.get("client").asText()),
                        client.get("denied").asLong());
            }
        }
        out.flush();
    }

    private void queue(JsonNode queue) {
        out.println();
        out.printf(
                "%-22s %8s %8s %8s %8s %8s %8s %10s %10s%n",
                "queue " + SafeText.of(queue.get("queue").asText()),
                "queued",
                "refused",
                "released",
                "expired",
                "evicted",
                "cancel.",
                "wait p50",
                "wait p99");
        queue.get("tiers").forEach(tier -> waits(tier.get("tier").asText(), tier));
        waits("all", queue);
        if (queue.get("rate").isNull()) {
            return;
        }
        out.printf(
                "  released %.1f tokens a second on average",
                queue.get("tokensPerSecond").asDouble());
        double rate = tokensPerSecond(queue.get("rate"));
        if (queue.get("keys").isNull()) {
            out.printf("; the rate is %.1f%n", rate);
            return;
        }
        JsonNode total = queue.get("total");
        out.printf(
                " for %,d keys%s%n",
                queue.get("keys").asLong(),
                total.isNull() ? "" : "; the total is %.1f".formatted(tokensPerSecond(total)));
        JsonNode gapMs = queue.get("gapMs");
        if (!gapMs.isNull()) {
            out.printf(
                    "  gaps between releases of a key with a backlog: min %s, p50 %s; by its rate %s%n",
                    rounded(gapMs.get("min").asDouble()),
                    rounded(gapMs.get("p50").asDouble()),
                    rounded(1e3 / rate));
        }
    }

    private static double tokensPerSecond(JsonNode rate) {
        return rate.get("limit").asLong() * 1e3 / rate.get("perMs").asLong();
    }

    private static String rounded(double ms) {
        return DurationsAndSizes.rounded(Math.round(ms));
    }

    private void waits(String name, JsonNode counts) {
        out.printf(
                "  %-20s %,8d %,8d %,8d %,8d %,8d %,8d %10s %10s%n",
                SafeText.of(name),
                counts.get("queued").asLong(),
                counts.get("refused").asLong(),
                counts.get("released").asLong(),
                counts.get("expired").asLong(),
                counts.get("evicted").asLong(),
                counts.get("cancelled").asLong(),
                DurationsAndSizes.rounded(counts.get("waitMs").get("p50").asLong()),
                DurationsAndSizes.rounded(counts.get("waitMs").get("p99").asLong()));
    }

    private void heading(String what) {
        out.println();
        out.printf("%-40s %9s %9s %9s %9s %8s%n", what, "requests", "allowed", "queued", "denied", "denied %");
    }

    private void counts(String name, JsonNode counts) {
        long requests = counts.get("requests").asLong();
        long denied = counts.get("denied").asLong();
        out.printf(
                "  %-38s %,9d %,9d %,9d %,9d %7.1f%%%s%n",
                SafeText.of(name),
                requests,
                counts.get("allowed").asLong(),
                counts.get("queued").asLong(),
                denied,
                requests == 0 ? 0 : 100.0 * denied / requests,
                rareCounts(counts));
    }

    /** Returns the counts that are usually 0, as text: only those above 0, empty if all are 0. */
    private static String rareCounts(JsonNode counts) {
        List<String> also = new ArrayList<>();
        for (String rare : List.of("observed", "delayed", "repeated")) {
            long count = counts.get(rare).asLong();
            if (count > 0) {
                also.add(String.format("%,d %s", count, rare));
            }
        }
        return also.isEmpty() ? "" : "   (" + String.join(", ", also) + ")";
    }
}
