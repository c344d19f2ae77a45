package dev.weir.cli.queue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.cli.option.AuthorOptions;
import dev.weir.cli.option.DurationConverter;
import dev.weir.cli.option.OutputOption;
import dev.weir.cli.option.ServiceClient;
import dev.weir.console.InputException;
import dev.weir.fault.SafeText;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.json.Json;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** A command to a queue, or to one key of it. */
abstract class QueueActionCommand implements Callable<Integer> {

    private static final String KEY = "key";

    @Mixin
    private ServiceClient service;

    @Mixin
    private AuthorOptions author;

    @Parameters(paramLabel = "ID", description = "The id of the queue.")
    private String id;

    @Option(
            names = "--key",
            paramLabel = "FIELD=VALUE",
            description = "Only one key of the queue. Repeat the option for each key field of the queue.")
    private Map<String, String> key = new TreeMap<>();

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            converter = DurationConverter.OrZero.class,
            defaultValue = "10s",
            description = "How long to wait until all partitions have put it in effect, up to 20s (default:"
                    + " ${DEFAULT-VALUE}).")
    private Duration timeout;

    @Mixin
    private OutputOption output;

    @Spec
    private CommandSpec spec;

    private final String action;

    /** @param action the name of the action in the API */
    QueueActionCommand(String action) {
        this.action = action;
    }

    @Override
    public Integer call() {
        ChangeAuthor changedBy = author.changedBy();
        ObjectNode body = Json.MAPPER.createObjectNode().put("action", action);
        changedBy.author().ifPresent(name -> body.put("author", name));
        body.put(
                "reason",
                changedBy.reason().orElseThrow(() -> new InputException("--reason TEXT is missing: say why", null)));
        if (!key.isEmpty()) {
            body.set(KEY, Json.MAPPER.valueToTree(key));
        }
        String path = "/v1/queues/" + ServiceClient.encoded(id) + "/commands?timeoutMs=" + timeout.toMillis();
        JsonNode result =
                service.post(path, body).orElseThrow(() -> new InputException("no queue " + SafeText.of(id), null));
        output.print(result, QueueActionCommand::print);
        return warn(result.get("pending"));
    }

    private static void print(JsonNode result, PrintWriter out) {
        String key = QueuesCommand.text(result.get(KEY));
        int pending = result.get("pending").size();
        int all = result.get("partitions").asInt();
        out.printf(
                "%s of %s%s is in effect on %d of %d partition%s%n",
                result.get("action").asText(),
                result.get("id").asText(),
                key.isEmpty() ? "" : " " + key,
                all - pending,
                all,
                all == 1 ? "" : "s");
    }

    private int warn(JsonNode pending) {
        if (pending.isEmpty()) {
            return 0;
        }
        spec.commandLine()
                .getErr()
                .println("weir queues " + action + ": not yet in effect on partitions " + Json.write(pending)
                        + " of the admissions topic. They will obey when their tasks run: see weir doctor");
        return 1;
    }

    @Command(
            name = "pause",
            mixinStandardHelpOptions = true,
            description = {
                "Stops releases of a queue, or of one key.",
                "Requests are still admitted, and expire. Releases that were written ahead of their time, by look-ahead,"
                        + " stay. A pause survives restarts, until: weir queues resume."
            })
    static final class Pause extends QueueActionCommand {
        Pause() {
            super("pause");
        }
    }

    @Command(
            name = "resume",
            mixinStandardHelpOptions = true,
            description = {
                "Ends a pause and a drain of a queue, or of one key.",
                "Those of keys are independent of those of the whole queue."
            })
    static final class Resume extends QueueActionCommand {
        Resume() {
            super("resume");
        }
    }

    @Command(
            name = "drain",
            mixinStandardHelpOptions = true,
            description = {
                "Stops admissions to a queue, or to one key.",
                "New requests are denied with QUEUE_DRAINING; those that wait are released. Until: weir queues resume."
            })
    static final class Drain extends QueueActionCommand {
        Drain() {
            super("drain");
        }
    }

    @Command(
            name = "purge",
            mixinStandardHelpOptions = true,
            description = {
                "Ends all requests that wait in a queue, or in one key, with DENIED and the reason PURGED.",
                "Requests that arrive later are not affected. It cannot be undone."
            })
    static final class Purge extends QueueActionCommand {
        Purge() {
            super("purge");
        }
    }
}
