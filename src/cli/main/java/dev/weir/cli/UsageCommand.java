package dev.weir.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.cli.option.ClientOptions;
import dev.weir.cli.option.OutputOption;
import dev.weir.cli.option.ServiceClient;
import dev.weir.cli.output.TextTable;
import dev.weir.console.InputException;
import dev.weir.fault.SafeText;
import dev.weir.policy.DurationsAndSizes;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
        name = "usage",
        mixinStandardHelpOptions = true,
        description = {
            "Prints what a client has used of its limits.",
            "Any running instance responds for every client. For shared limits, the leases are printed too."
        },
        footer = {"", "Example:", "  weir usage alice --tier free --attribute endpoint=/articles/7"})
final class UsageCommand implements Callable<Integer> {

    @Mixin
    private ServiceClient service;

    @Mixin
    private ClientOptions requests;

    @Mixin
    private OutputOption output;

    @Override
    public Integer call() {
        JsonNode answer = service.get("/v1/usage/" + ServiceClient.encoded(requests.client()) + query())
                .orElseThrow(() -> new InputException("the service has no /v1/usage; check --service", null));
        for (JsonNode policy : answer.get("usage")) {
            if (policy.path("held").isNumber()) {
                // adds the usage of all clients and the leases
                service.get(sharedUsagePath(policy))
                        .ifPresent(shared -> ((ObjectNode) policy).setAll((ObjectNode) shared));
            }
        }
        output.print(answer, UsageCommand::print);
        return 0;
    }

    private static void print(JsonNode answer, PrintWriter out) {
        TextTable table = new TextTable("POLICY", "KEY", "LIMIT", "USED", "LEFT", "RESETS IN");
        List<String> details = new ArrayList<>();
        for (JsonNode policy : answer.get("usage")) {
            add(policy, table);
            if (policy.has("holders")) {
                details.add(holders(policy));
            }
            if (policy.path("reserved").asLong() > 0) {
                details.add("reserved of " + SafeText.of(policy.get("policyId").asText()) + ": "
                        + policy.get("reserved").asText() + " not settled yet");
            }
        }
        table.print(out, "no policy applies to the client");
        details.forEach(out::println);
    }

    private static void add(JsonNode policy, TextTable table) {
        for (JsonNode limit : policy.get("limits")) {
            table.add(
                    policy.get("policyId").asText() + " (version "
                            + policy.get("policyVersion").asText() + ")",
                    policy.get("key").isEmpty() ? "all clients" : key(policy.get("key")),
                    limit.get("label").asText(),
                    TextTable.orDash(limit.get("used")),
                    TextTable.orDash(limit.get("remaining")),
                    DurationsAndSizes.rounded(limit.get("resetAfterMs").asLong()));
        }
    }

    /** Returns the path of the usage of a shared policy. */
    private static String sharedUsagePath(JsonNode policy) {
        String key = policy.get("key").properties().stream()
                .map(field -> "key." + ServiceClient.encoded(field.getKey()) + "="
                        + ServiceClient.encoded(field.getValue().asText()))
                .collect(Collectors.joining("&"));
        return "/v1/shared/" + ServiceClient.encoded(policy.get("policyId").asText())
                + (key.isEmpty() ? "" : "?" + key);
    }

    private static String holders(JsonNode shared) {
        StringBuilder line = new StringBuilder("leases of ")
                .append(SafeText.of(shared.get("policyId").asText()))
                .append(": ");
        for (JsonNode holder : shared.get("holders")) {
            line.append(holder.get("lent").asText())
                    .append(" to ")
                    .append(SafeText.of(holder(holder.get("holder").asText())))
                    .append(", ");
        }
        return line.append(shared.get("free").asText()).append(" free").toString();
    }

    /** Returns "partition 3" for the stream task {@code weir/3}, and the name itself for a leased client. */
    private static String holder(String name) {
        return name.replaceFirst("^[^/]+/(?=[0-9]+$)", "partition ");
    }

    private String query() {
        Map<String, String> parameters = new TreeMap<>();
        requests.attributes().forEach((name, value) -> parameters.put("attribute." + name, value));
        if (requests.tier() != null) {
            parameters.put("tier", requests.tier());
        }
        return parameters.isEmpty()
                ? ""
                : parameters.entrySet().stream()
                        .map(one -> ServiceClient.encoded(one.getKey()) + "=" + ServiceClient.encoded(one.getValue()))
                        .collect(Collectors.joining("&", "?", ""));
    }

    private static String key(JsonNode key) {
        return key.properties().stream()
                .map(field -> field.getKey() + "=" + field.getValue().asText())
                .collect(Collectors.joining(" "));
    }
}
