package dev.weir.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.cli.option.DurationConverter;
import dev.weir.cli.option.OutputOption;
import dev.weir.cli.option.ServiceClient;
import dev.weir.cli.output.TextTable;
import dev.weir.console.InputException;
import dev.weir.console.Terminal;
import dev.weir.console.TerminalWriter;
import dev.weir.console.TextStyle;
import dev.weir.event.Reason;
import dev.weir.fault.SafeText;
import dev.weir.kafka.UnreachableException;
import dev.weir.policy.DurationsAndSizes;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "top",
        mixinStandardHelpOptions = true,
        description = {
            "Prints who is limited, and by which policy: most requests first.",
            "Counts requests that were denied, delayed, or expired in a queue, on all instances. Any running instance"
                    + " responds. On a terminal, the list is refreshed until Ctrl-C; otherwise it is printed once."
        },
        footer = {
            "",
            "Instances keep these figures in memory for 24 hours, and lose them when they are restarted. To search the"
                    + " decisions themselves: weir watch decisions --outcome denied --from-beginning",
            "",
            "Examples:",
            "  weir top",
            "  weir top --since 1h --policy free-articles",
            "  weir top policies --since 1d -o json"
        })
final class TopCommand implements Callable<Integer> {

    private static final long MS_PER_MINUTE = 60_000;
    private static final long MAX_SINCE_MS = 24 * 60 * MS_PER_MINUTE;
    private static final int MAX_MOST = 1_000;

    /** The maximum length of a client's name in the table. The other formats have all of it. */
    private static final int SHOWN_NAME = 60;

    /** Erases the terminal and returns to its first line. */
    private static final String CLEAR = "\u001b[H\u001b[2J";

    /**
     * The lines of the terminal besides the rows of the table: the summary, the head of the table, and the last one.
     */
    private static final int OTHER_LINES = 4;

    private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT);

    private enum View {
        CLIENTS,
        POLICIES;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    @Mixin
    private ServiceClient service;

    @Parameters(
            paramLabel = "VIEW",
            arity = "0..1",
            defaultValue = "clients",
            description = "clients, by policy and reason, or policies, with their results (default: ${DEFAULT-VALUE}).")
    private View view;

    @Option(
            names = "--since",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "1m",
            description = "The period up to now, 1m to 1d (default: ${DEFAULT-VALUE}).")
    private Duration since;

    @Option(names = "--client", paramLabel = "CLIENT", description = "Print only this client.")
    private String client;

    @Option(names = "--policy", paramLabel = "ID", description = "Print only what this policy limits.")
    private String policy;

    @Option(
            names = "--reason",
            paramLabel = "REASON",
            description = "Print only requests with this reason, such as LIMIT_EXCEEDED.")
    private Reason reason;

    @Option(
            names = "--most",
            paramLabel = "N",
            description = "The maximum number of rows, 1 to " + MAX_MOST
                    + " (default: 20, or those that fit on the terminal).")
    private Integer most;

    @Option(
            names = "--every",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "2s",
            description = "How often the list on a terminal is refreshed, at least 1s (default: ${DEFAULT-VALUE}).")
    private Duration every;

    @Option(names = "--once", description = "Print the list once, also on a terminal.")
    private boolean once;

    @Option(
            names = {"-n", "--count"},
            paramLabel = "N",
            description = "Exit after this many lists (default on a terminal: run until stopped).")
    private Integer count;

    @Mixin
    private OutputOption output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        requireValid();
        PrintWriter out = spec.commandLine().getOut();
        if (once || !output.isTable() || !TerminalWriter.isTerminal(out)) {
            JsonNode limited = limited(most == null ? 20 : most);
            output.print(limited, (tree, table) -> print(tree, table));
            printWarnings(limited);
            return 0;
        }
        try {
            return refresh(out) ? 0 : 1;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 0;
        }
    }

    private void requireValid() {
        long sinceMs = since.toMillis();
        if (sinceMs < MS_PER_MINUTE || sinceMs > MAX_SINCE_MS) {
            throw wrongUsage("--since must be 1m to 1d, is " + DurationsAndSizes.duration(sinceMs));
        }
        if (every.toMillis() < 1_000) {
            throw wrongUsage("--every must be 1s or more, is " + DurationsAndSizes.duration(every.toMillis()));
        }
        if (count != null && count < 1) {
            throw wrongUsage("--count must be 1 or more, is " + count);
        }
        if (most != null && (most < 1 || most > MAX_MOST)) {
            throw wrongUsage("--most must be 1 to " + MAX_MOST + ", is " + most);
        }
    }

    private ParameterException wrongUsage(String why) {
        return new ParameterException(spec.commandLine(), why);
    }

    /**
     * Prints the list again and again. If no instance responds, prints that above the last list. Returns whether the
     * last list was received.
     */
    private boolean refresh(PrintWriter out) throws InterruptedException {
        boolean isReceived = true;
        String list = "";
        for (int left = count == null ? Integer.MAX_VALUE : count; left > 0; left--) {
            Terminal.Size size = Terminal.size();
            String trouble = "";
            isReceived = false;
            try {
                list = list(size, TerminalWriter.style(out));
                isReceived = true;
            } catch (UnreachableException e) {
                String why = cut("weir top: " + SafeText.of(e.getMessage()), size.columns());
                trouble = TerminalWriter.style(out).bad(why) + "\n";
            }
            out.print(CLEAR + trouble + list);
            out.flush();
            if (left > 1) {
                Thread.sleep(every.toMillis());
            }
        }
        return isReceived;
    }

    private String list(Terminal.Size size, TextStyle style) {
        int rows = Math.max(1, size.rows() - OTHER_LINES);
        JsonNode limited = limited(most == null ? Math.min(MAX_MOST, rows) : most);
        StringWriter table = new StringWriter();
        print(limited, new PrintWriter(table, true));
        List<String> lines = new ArrayList<>();
        lines.add(cut(summary(limited), size.columns()));
        table.toString().lines().limit(rows + 1L).forEach(line -> lines.add(cut(line, size.columns())));
        lines.set(0, style.heading(lines.get(0)));
        return String.join("\n", lines) + "\n";
    }

    private static String cut(String line, int columns) {
        return line.length() <= columns ? line : line.substring(0, columns);
    }

    private String summary(JsonNode limited) {
        int missing = limited.get("missing").size();
        return String.format(
                Locale.ROOT,
                "weir top: %s%,d limited requests from %s to %s%s",
                limited.get("exact").asBoolean() ? "" : "estimates, ",
                limited.get("requests").asLong(),
                clock(limited.get("from").asLong()),
                clock(limited.get("to").asLong()),
                missing == 0 ? "" : ", " + missing + " instances do not respond");
    }

    private static String clock(long atMs) {
        return CLOCK.format(Instant.ofEpochMilli(atMs).atZone(ZoneId.systemDefault()));
    }

    private JsonNode limited(int rows) {
        StringBuilder query = new StringBuilder("/v1/live/limited?minutes=")
                .append((since.toMillis() + MS_PER_MINUTE - 1) / MS_PER_MINUTE)
                .append("&most=")
                .append(rows);
        append(query, "client", client);
        append(query, "policy", policy);
        append(query, "reason", reason == null ? null : reason.name());
        return service.get(query.toString())
                .orElseThrow(() -> new InputException("the service has no /v1/live/limited; check --service", null));
    }

    private static void append(StringBuilder query, String name, String value) {
        if (value != null) {
            query.append('&').append(name).append('=').append(ServiceClient.encoded(value));
        }
    }

    private void print(JsonNode limited, PrintWriter out) {
        String since = " since " + Instant.ofEpochMilli(limited.get("from").asLong());
        if (view == View.CLIENTS) {
            clients(limited).print(out, "no client was limited" + since);
        } else {
            policies(limited).print(out, "no policy was checked" + since);
        }
    }

    private static TextTable clients(JsonNode limited) {
        long all = limited.get("requests").asLong();
        TextTable table = new TextTable("CLIENT", "POLICY", "REASON", "REQUESTS", "SHARE");
        for (JsonNode one : limited.get("clients")) {
            long requests = one.get("requests").asLong();
            table.add(
                    SafeText.of(one.get("client").asText(), SHOWN_NAME),
                    one.get("policy").asText(),
                    one.get("reason").asText(),
                    String.format(Locale.ROOT, "%,d", requests),
                    share(requests, all));
        }
        return table;
    }

    private static TextTable policies(JsonNode limited) {
        TextTable table = new TextTable("POLICY", "ALLOWED", "QUEUED", "DENIED", "SHARE DENIED");
        for (JsonNode one : limited.get("policies")) {
            long denied = one.get("denied").asLong();
            long all = one.get("allowed").asLong() + one.get("queued").asLong() + denied;
            table.add(
                    one.get("policy").asText(),
                    String.format(Locale.ROOT, "%,d", one.get("allowed").asLong()),
                    String.format(Locale.ROOT, "%,d", one.get("queued").asLong()),
                    String.format(Locale.ROOT, "%,d", denied),
                    share(denied, all));
        }
        return table;
    }

    /** Returns a share as a percentage, which estimates can exceed. */
    private static String share(long part, long all) {
        return all == 0 ? "-" : String.format(Locale.ROOT, "%.1f%%", Math.min(100.0, 100.0 * part / all));
    }

    private void printWarnings(JsonNode limited) {
        PrintWriter err = spec.commandLine().getErr();
        limited.get("missing")
                .forEach(address -> err.println("weir top: the figures of " + SafeText.of(address.asText())
                        + " are missing: the instance does not respond"));
        if (view == View.CLIENTS && output.isTable() && !limited.get("exact").asBoolean()) {
            err.println("weir top: the counts are estimates, because many clients were limited");
        }
    }
}
