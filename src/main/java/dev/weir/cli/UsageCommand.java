package dev.weir.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.codec.OneLine;
import java.io.PrintWriter;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "usage",
        mixinStandardHelpOptions = true,
        description = {
            "Prints what a client has used of the policies that apply to it.",
            "Any running instance answers for every client."
        },
        footer = {"", "Example:", "  weir usage alice --tier free --attribute endpoint=/articles/7"})
final class UsageCommand implements Callable<Integer> {

    @Mixin
    private ServiceClient service;

    @Parameters(paramLabel = "CLIENT", description = "The client.")
    private String client;

    @Option(names = "--tier", paramLabel = "TIER", description = "The client's plan.")
    private String tier;

    @Option(
            names = "--attribute",
            paramLabel = "NAME=VALUE",
            description = "An attribute of its requests; may be there several times.")
    private Map<String, String> attributes = new TreeMap<>();

    @Option(names = "--json", description = "Print the service's answer as it is.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        JsonNode answer = service.get("/v1/usage/" + ServiceClient.encoded(client) + query())
                .orElseThrow(() -> new InputException("this service does not tell usage", null));
        if (json) {
            out.println(OneLine.of(answer.toString()));
            return 0;
        }
        Table table = new Table("POLICY", "KEY", "LIMIT", "USED", "LEFT", "WHOLE AGAIN IN");
        for (JsonNode policy : answer.get("usage")) {
            for (JsonNode limit : policy.get("limits")) {
                table.add(
                        policy.get("policyId").asText() + " (version "
                                + policy.get("policyVersion").asText() + ")",
                        key(policy.get("key")),
                        limit.get("label").asText(),
                        orDash(limit.get("used")),
                        orDash(limit.get("remaining")),
                        Table.time(limit.get("resetAfterMs").asLong()));
            }
        }
        table.print(out, "no policy applies to it");
        return 0;
    }

    private String query() {
        Map<String, String> parameters = new TreeMap<>();
        attributes.forEach((name, value) -> parameters.put("attribute." + name, value));
        if (tier != null) {
            parameters.put("tier", tier);
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

    private static String orDash(JsonNode value) {
        return value.isNull() ? "-" : value.asText();
    }
}
