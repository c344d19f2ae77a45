package dev.weir.cli.queue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.cli.option.OutputOption;
import dev.weir.cli.option.ServiceClient;
import dev.weir.cli.output.TextTable;
import dev.weir.console.InputException;
import dev.weir.fault.SafeText;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.wire.json.Json;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "queues",
        aliases = "queue",
        mixinStandardHelpOptions = true,
        description = {
            "Prints queues and their current state, also of deleted ones that drain, or sends a command to one.",
            "With an ID, prints one queue with its tiers and, if it has a key, the keys with the longest backlogs. Any"
                    + " running instance responds for every queue."
        },
        footer = {
            "",
            "Examples:",
            "  weir queues",
            "  weir queues sms -o json",
            "  weir queues webhooks --key destination=example.com",
            "  weir queues pause sms --reason \"the provider is down\"",
            "  weir queues purge webhooks --key destination=example.com --reason \"test data\""
        },
        subcommands = {
            QueueActionCommand.Pause.class,
            QueueActionCommand.Resume.class,
            QueueActionCommand.Drain.class,
            QueueActionCommand.Purge.class,
            QueueActionsCommand.class
        })
public final class QueuesCommand implements Callable<Integer> {

    private static final int MAX_KEYS = 10;

    @Mixin
    private ServiceClient service;

    @Parameters(paramLabel = "ID", arity = "0..1", description = "The id of a queue (default: all queues).")
    private String id;

    @Option(
            names = "--key",
            paramLabel = "FIELD=VALUE",
            description = "Print one key of the queue. Repeat the option for each key field of the queue.")
    private Map<String, String> key = new TreeMap<>();

    @Mixin
    private OutputOption output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (id == null && !key.isEmpty()) {
            throw new InputException("--key needs a queue: weir queues ID --key FIELD=VALUE", null);
        }
        if (id == null) {
            output.print(all(), QueuesCommand::printAll);
        } else {
            JsonNode queue = (key.isEmpty() ? queue(id) : service.get(path(id) + "/keys/" + pairs()))
                    .orElseThrow(() -> new InputException("no queue " + id, null));
            output.print(queue, QueuesCommand::print);
        }
        return 0;
    }

    private ObjectNode all() {
        ObjectNode all = Json.MAPPER.createObjectNode();
        ArrayNode queues = all.putArray("queues");
        String after = "";
        Set<String> missing = new TreeSet<>();
        while (after != null) {
            JsonNode page = service.get("/v1/queues?after=" + ServiceClient.encoded(after))
                    .orElseThrow(() -> new InputException("the service has no /v1/queues; check --service", null));
            for (JsonNode one : page.get("queues")) {
                queue(one.get("id").asText()).ifPresent(queues::add);
            }
            page.path("missing").forEach(address -> missing.add(address.asText()));
            after = page.get("next").textValue();
        }
        missing.forEach(address -> spec.commandLine()
                .getErr()
                .println("weir queues: deleted queues that drain on " + SafeText.of(address)
                        + " may be missing: the instance does not respond"));
        return all;
    }

    private static void printAll(JsonNode all, PrintWriter out) {
        TextTable table = head("KEYS");
        all.get("queues").forEach(queue -> add(table, queue));
        table.print(out, "no queues");
    }

    private static void print(JsonNode queue, PrintWriter out) {
        TextTable head = head(queue.has("key") ? "KEY" : "KEYS");
        add(head, queue);
        head.print(out, "");
        JsonNode tiers = queue.get("state").path("tiers");
        if (!tiers.isEmpty()) {
            out.println();
            byTier(tiers).print(out, "");
        }
        TextTable inFlight = inFlight(queue);
        if (!inFlight.isEmpty()) {
            out.println();
            inFlight.print(out, "");
        }
        TextTable commands = commands(queue.get("state"));
        if (!commands.isEmpty()) {
            out.println();
            commands.print(out, "");
        }
        JsonNode longest = queue.get("state").path("longest");
        if (!longest.isEmpty()) {
            out.println();
            byKey(longest).print(out, "");
        }
    }

    private static TextTable head(String keys) {
        return new TextTable("QUEUE", "VERSION", "RATE", keys, "WAITING", "OLDEST", "DRAINS IN", "RELEASED");
    }

    private static TextTable byTier(JsonNode tiers) {
        TextTable table = new TextTable("TIER", "PRIORITY", "WEIGHT", "WAITING");
        for (JsonNode tier : tiers) {
            table.add(
                    TextTable.orDash(tier.get("tier")),
                    tier.get("priority").asText(),
                    tier.get("weight").asText(),
                    tier.get("waiting").asText());
        }
        return table;
    }

    /** Returns what workers have in all and by tier, if the queue expects their answers. */
    private static TextTable inFlight(JsonNode queue) {
        TextTable table = new TextTable("IN FLIGHT", "SLOTS", "OLDEST", "RETRIES");
        JsonNode inFlight = queue.get("state").path("inFlight");
        JsonNode most = queue.path("definition").path("max-in-flight");
        JsonNode ofTotal = queue.path("definition").path("total").path("max-in-flight");
        long requests = inFlight.path("requests").asLong();
        long retries = inFlight.path("retries").asLong();
        if (most.isMissingNode() && ofTotal.isMissingNode() && requests == 0 && retries == 0) {
            return table;
        }
        boolean isOfEachKey = queue.get("state").path("keys").isNumber();
        String of = most.isMissingNode() ? "" : isOfEachKey ? ", " + most.asText() + " a key" : " of " + most.asText();
        JsonNode oldestMs = inFlight.path("oldestMs");
        table.add(
                String.valueOf(requests),
                inFlight.path("slots").asText()
                        + (ofTotal.isMissingNode() ? "" : " of " + ofTotal.asText() + " in all")
                        + of,
                oldestMs.isNumber() ? DurationsAndSizes.rounded(oldestMs.asLong()) : "-",
                String.valueOf(retries));
        inFlight.path("tiers")
                .forEach(tier -> table.add(
                        "tier " + TextTable.orDash(tier.get("tier")),
                        tier.get("slots").asText(),
                        "",
                        ""));
        return table;
    }

    /**
     * The keys that are among the first {@value #MAX_KEYS} by waiting requests or by the longest wait, as the service
     * sorts them.
     */
    private static TextTable byKey(JsonNode longest) {
        Set<Integer> shown = new TreeSet<>();
        List<ToLongFunction<JsonNode>> orders =
                List.of(key -> -key.get("waiting").asLong(), key -> -key.get("oldestWaitMs")
                        .asLong());
        for (ToLongFunction<JsonNode> order : orders) {
            IntStream.range(0, longest.size())
                    .boxed()
                    .sorted(Comparator.comparingLong(i -> order.applyAsLong(longest.get(i))))
                    .limit(MAX_KEYS)
                    .forEach(shown::add);
        }
        TextTable table = new TextTable("LONGEST KEYS", "WAITING", "OLDEST", "DRAINS IN");
        for (int i : shown) {
            JsonNode of = longest.get(i);
            table.add(
                    text(of.get("key")),
                    of.get("waiting").asText(),
                    DurationsAndSizes.rounded(of.get("oldestWaitMs").asLong()),
                    DurationsAndSizes.rounded(of.get("drainMs").asLong()));
        }
        return table;
    }

    /** Returns a queue. Prints a line for each instance with keys of the queue that did not respond. */
    private Optional<JsonNode> queue(String name) {
        Optional<JsonNode> queue = service.get(path(name));
        queue.map(found -> found.path("missing"))
                .filter(missing -> !missing.isEmpty())
                .ifPresent(missing -> {
                    PrintWriter err = spec.commandLine().getErr();
                    for (JsonNode address : missing) {
                        err.println("weir queues: the keys of " + SafeText.of(name) + " on "
                                + SafeText.of(address.asText()) + " are missing: the instance does not respond");
                    }
                });
        return queue;
    }

    private static String path(String name) {
        return "/v1/queues/" + ServiceClient.encoded(name);
    }

    private String pairs() {
        return key.entrySet().stream()
                .map(field -> ServiceClient.encoded(field.getKey()) + "=" + ServiceClient.encoded(field.getValue()))
                .collect(Collectors.joining("&"));
    }

    private static void add(TextTable table, JsonNode queue) {
        JsonNode state = queue.get("state");
        String name = queue.get("id").asText() + marks(state);
        String version = queue.get("version").asText();
        if (state.isNull()) {
            table.add(name, version, "-", "-", "-", "-", "-", "-");
            return;
        }
        JsonNode rate = state.get("rate");
        boolean isOfEachKey = !state.get("keys").isNull();
        JsonNode total = queue.path("definition").path("total");
        String ofAll = total.has("limit")
                ? ", " + total.get("limit").asText() + "/" + total.get("per").asText() + " in all"
                : "";
        table.add(
                name,
                version,
                rate.isNull()
                        ? "-"
                        : rate.get("limit").asText() + "/"
                                + DurationsAndSizes.duration(rate.get("perMs").asLong())
                                + (isOfEachKey ? " a key" + ofAll : ""),
                queue.has("key") ? text(queue.get("key")) : TextTable.orDash(state.get("keys")),
                state.get("waiting").asText(),
                state.get("oldestWaitMs").isNull()
                        ? "-"
                        : DurationsAndSizes.rounded(state.get("oldestWaitMs").asLong()),
                DurationsAndSizes.rounded(state.get("drainMs").asLong()),
                TextTable.orDash(state.get("released")));
    }

    /** Returns what is unusual about a queue, in parentheses. */
    private static String marks(JsonNode state) {
        List<String> marks = new ArrayList<>();
        if (state.path("deleted").asBoolean()) {
            marks.add("deleted");
        }
        for (String command : List.of("paused", "draining")) {
            if (state.path(command).isObject()) {
                marks.add(command);
            }
        }
        if (state.path("purging").asBoolean()) {
            marks.add("purging");
        }
        return marks.isEmpty() ? "" : " (" + String.join(", ", marks) + ")";
    }

    private static TextTable commands(JsonNode state) {
        TextTable table = new TextTable("COMMAND", "KEY", "SINCE", "AUTHOR", "REASON");
        add(table, state, "-");
        state.path("keyCommands").forEach(key -> add(table, key, text(key.get("key"))));
        return table;
    }

    private static void add(TextTable table, JsonNode commands, String key) {
        for (String command : List.of("paused", "draining")) {
            JsonNode origin = commands.path(command);
            if (origin.isObject()) {
                table.add(
                        command,
                        key,
                        Instant.ofEpochMilli(origin.get("since").asLong()).toString(),
                        TextTable.orDash(origin.get("author")),
                        origin.get("reason").asText());
            }
        }
    }

    static String text(JsonNode key) {
        return key.properties().stream()
                .map(field -> field.getKey() + "=" + field.getValue().asText())
                .collect(Collectors.joining(" "));
    }
}
