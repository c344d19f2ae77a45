package dev.weir.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.cli.option.OutputOption;
import dev.weir.cli.option.ServiceClient;
import dev.weir.cli.output.TextTable;
import dev.weir.console.InputException;
import dev.weir.event.Reason;
import dev.weir.event.RequestKind;
import dev.weir.fault.SafeText;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.wire.json.Json;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "reservations",
        mixinStandardHelpOptions = true,
        description = {
            "Prints the open reservations of a client, or ends some.",
            "Any running instance responds for every client. The list is as of the last commit."
        },
        footer = {
            "",
            "Examples:",
            "  weir reservations alice",
            "  weir reservations alice --release call-17",
            "",
            "Exit codes: 0 if the list was printed or all reservations were released; 1 if there was nothing to release."
        })
final class ReservationsCommand implements Callable<Integer> {

    private static final String DECIDE = "/v1/decide?timeout=10s";

    /** The maximum number of reservations that are printed. */
    private static final int MOST = 10_000;

    private static final int PAGE_SIZE = 1_000;

    /** The maximum number of requests in a call. */
    private static final int MAX_RELEASED = 1_000;

    @Mixin
    private ServiceClient service;

    @Parameters(paramLabel = "CLIENT", description = "The client.")
    private String client;

    @Option(
            names = "--release",
            paramLabel = "ID",
            description =
                    "End the reservation with this request id: its charges stay, its slots are free at once. Repeat"
                            + " the option for each reservation. Needs a token that permits deciding.")
    private List<String> released = new ArrayList<>();

    @Mixin
    private OutputOption output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (released.isEmpty()) {
            output.print(all(), ReservationsCommand::print);
            return 0;
        }
        if (released.size() > MAX_RELEASED) {
            throw new InputException("--release: at most " + MAX_RELEASED + " at once", null);
        }
        JsonNode decisions = service.post(DECIDE, requests())
                .orElseThrow(() -> new InputException("the service has no /v1/decide; check --service", null));
        output.print(decisions, this::printDecisions);
        return StreamSupport.stream(decisions.spliterator(), false).allMatch(ReservationsCommand::isReleased) ? 0 : 1;
    }

    private ObjectNode all() {
        ObjectNode all = Json.MAPPER.createObjectNode();
        ArrayNode list = all.putArray("reservations");
        String path = "/v1/reservations/" + ServiceClient.encoded(client) + "?limit=" + PAGE_SIZE;
        String after = "";
        while (after != null && list.size() < MOST) {
            JsonNode page = service.get(path + (after.isEmpty() ? "" : "&after=" + ServiceClient.encoded(after)))
                    .orElseThrow(
                            () -> new InputException("the service has no /v1/reservations; check --service", null));
            all.set("client", page.get("client"));
            all.set("at", page.get("at"));
            page.get("reservations").forEach(list::add);
            after = page.get("next").textValue();
        }
        if (after != null) {
            spec.commandLine().getErr().println("weir reservations: there can be more than these " + list.size());
        }
        return all;
    }

    private static void print(JsonNode all, PrintWriter out) {
        long nowMs = all.get("at").longValue();
        TextTable table = new TextTable("REQUEST", "COST", "AGE", "ENDS IN", "POLICIES");
        for (JsonNode one : all.get("reservations")) {
            table.add(
                    one.get("requestId").asText(),
                    one.get("cost").asText(),
                    DurationsAndSizes.rounded(
                            Math.max(0, nowMs - one.get("since").longValue())),
                    DurationsAndSizes.rounded(Math.max(0, one.get("ends").longValue() - nowMs)),
                    policies(one.get("policies")));
        }
        table.print(out, "the client has no open reservations");
    }

    private static String policies(JsonNode policies) {
        String all = StreamSupport.stream(policies.spliterator(), false)
                .map(ReservationsCommand::policy)
                .collect(Collectors.joining(", "));
        return all.isEmpty() ? "-" : all;
    }

    private static String policy(JsonNode policy) {
        String others = policy.get("key").properties().stream()
                .filter(field -> !field.getKey().equals("client"))
                .map(field -> " " + field.getKey() + "=" + field.getValue().asText())
                .collect(Collectors.joining());
        return policy.get("policyId").asText()
                + others
                + (policy.get("slotsUntil").isNull() ? "" : " (slots)")
                + (policy.get("observes").asBoolean() ? " (observes)" : "");
    }

    private ArrayNode requests() {
        ArrayNode requests = Json.MAPPER.createArrayNode();
        for (String id : released) {
            requests.addObject()
                    .put("requestId", id)
                    .put("client", client)
                    .put("kind", RequestKind.RELEASE.name())
                    .put("cost", 0);
        }
        return requests;
    }

    private static boolean isReleased(JsonNode decision) {
        return decision.path("reason").asText().equals(Reason.RELEASED.name());
    }

    private void printDecisions(JsonNode decisions, PrintWriter out) {
        for (JsonNode decision : decisions) {
            String of = SafeText.of(decision.path("requestId").asText() + " of " + client);
            if (isReleased(decision)) {
                out.println("released " + of);
            } else {
                spec.commandLine().getErr().println("weir reservations: " + of + ": " + why(decision));
            }
        }
    }

    private static String why(JsonNode decision) {
        String reason = decision.path("reason").asText();
        if (reason.equals(Reason.NOTHING_RESERVED.name())) {
            return "not reserved, or its time is over";
        }
        if (reason.equals(Reason.ALREADY_ENDED.name())) {
            return "was ended before";
        }
        return "no decision: " + SafeText.of(decision.path("noDecision").asText(reason));
    }
}
