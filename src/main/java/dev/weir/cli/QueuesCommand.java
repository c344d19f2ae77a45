package dev.weir.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.codec.OneLine;
import dev.weir.policy.Quantities;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "queues",
        mixinStandardHelpOptions = true,
        description = {
            "Prints the queues and how they are now; with an id, one queue by tiers.",
            "Any running instance answers for every queue."
        },
        footer = {"", "Examples:", "  weir queues", "  weir queues sms --json"})
final class QueuesCommand implements Callable<Integer> {

    @Mixin
    private ServiceClient service;

    @Parameters(paramLabel = "ID", arity = "0..1", description = "The queue; without it, all of them.")
    private String id;

    @Option(names = "--json", description = "Print the service's answer as it is.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (id == null) {
            printAll(spec.commandLine().getOut());
        } else {
            JsonNode queue = queue(id).orElseThrow(() -> new InputException("no queue " + id, null));
            print(queue, spec.commandLine().getOut());
        }
        return 0;
    }

    private void printAll(PrintWriter out) {
        Table table = new Table("QUEUE", "VERSION", "RATE", "WAITING", "OLDEST", "RELEASED");
        String after = "";
        while (after != null) {
            JsonNode page = service.get("/v1/queues?after=" + ServiceClient.encoded(after))
                    .orElseThrow(() -> new InputException("this service does not tell of queues", null));
            for (JsonNode one : page.get("queues")) {
                Optional<JsonNode> queue = queue(one.get("id").asText());
                if (json) {
                    queue.ifPresent(there -> out.println(OneLine.of(there.toString())));
                } else {
                    queue.ifPresent(there -> add(table, there));
                }
            }
            after = page.get("next").textValue();
        }
        if (!json) {
            table.print(out, "no queues");
        }
    }

    private void print(JsonNode queue, PrintWriter out) {
        if (json) {
            out.println(OneLine.of(queue.toString()));
            return;
        }
        Table head = new Table("QUEUE", "VERSION", "RATE", "WAITING", "OLDEST", "RELEASED");
        add(head, queue);
        head.print(out, "");
        JsonNode tiers = queue.get("state").path("tiers");
        if (!tiers.isEmpty()) {
            Table byTier = new Table("TIER", "PRIORITY", "WEIGHT", "WAITING");
            for (JsonNode tier : tiers) {
                byTier.add(
                        tier.get("tier").isNull() ? "-" : tier.get("tier").asText(),
                        tier.get("priority").asText(),
                        tier.get("weight").asText(),
                        tier.get("waiting").asText());
            }
            out.println();
            byTier.print(out, "");
        }
    }

    private Optional<JsonNode> queue(String name) {
        return service.get("/v1/queues/" + ServiceClient.encoded(name));
    }

    private static void add(Table table, JsonNode queue) {
        JsonNode state = queue.get("state");
        String name = queue.get("id").asText() + (state.path("deleted").asBoolean() ? " (deleted)" : "");
        String version = queue.get("version").asText();
        if (state.isNull()) {
            table.add(name, version, "-", "-", "-", "-");
            return;
        }
        JsonNode rate = state.get("rate");
        table.add(
                name,
                version,
                rate.get("limit").asText() + "/"
                        + Quantities.duration(rate.get("perMs").asLong()),
                state.get("waiting").asText(),
                state.get("oldestWaitMs").isNull()
                        ? "-"
                        : Table.time(state.get("oldestWaitMs").asLong()),
                state.get("released").asText());
    }
}
