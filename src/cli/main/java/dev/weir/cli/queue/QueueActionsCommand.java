package dev.weir.cli.queue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.cli.option.OutputOption;
import dev.weir.cli.option.ServiceClient;
import dev.weir.cli.output.TextTable;
import dev.weir.console.InputException;
import dev.weir.fault.SafeText;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
        name = "commands",
        mixinStandardHelpOptions = true,
        description = {
            "Lists the last 100 commands to a queue and its keys, newest first.",
            "With time, author and reason."
        })
final class QueueActionsCommand implements Callable<Integer> {

    @Mixin
    private ServiceClient service;

    @Parameters(paramLabel = "ID", description = "The id of the queue.")
    private String id;

    @Mixin
    private OutputOption output;

    @Override
    public Integer call() {
        JsonNode commands = service.get("/v1/queues/" + ServiceClient.encoded(id) + "/commands")
                .orElseThrow(() -> new InputException("no queue " + SafeText.of(id), null));
        output.print(commands, QueueActionsCommand::print);
        return 0;
    }

    private static void print(JsonNode found, PrintWriter out) {
        TextTable table = new TextTable("NUMBER", "SENT AT", "COMMAND", "KEY", "AUTHOR", "REASON");
        for (JsonNode command : found.get("commands")) {
            String key = QueuesCommand.text(command.get("key"));
            table.add(
                    command.get("number").asText(),
                    Instant.ofEpochMilli(command.get("sentAt").asLong()).toString(),
                    command.get("action").asText(),
                    key.isEmpty() ? "-" : key,
                    TextTable.orDash(command.get("author")),
                    command.get("reason").asText());
        }
        table.print(out, "no commands");
    }
}
