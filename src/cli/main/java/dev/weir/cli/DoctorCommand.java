package dev.weir.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.cli.option.OutputOption;
import dev.weir.cli.option.ServiceClient;
import dev.weir.cli.option.ServiceUrl;
import dev.weir.config.WeirConfig;
import dev.weir.console.ClusterOptions;
import dev.weir.console.TerminalWriter;
import dev.weir.console.TextStyle;
import dev.weir.doctor.Doctor;
import dev.weir.doctor.Finding;
import dev.weir.doctor.Finding.Verdict;
import dev.weir.doctor.HangingTransactionFix;
import dev.weir.fault.FaultsException;
import dev.weir.fault.SafeText;
import dev.weir.wire.json.Json;
import java.io.PrintWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Scanner;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "doctor",
        mixinStandardHelpOptions = true,
        description = {
            "Checks a deployment and prints a fix for each problem.",
            "The checks cover this machine, brokers, topics, permissions, policies, instances and clocks. They change"
                    + " nothing, unless --fix is given."
        },
        footer = {
            "",
            "Use the configuration and credentials of `weir run`, so that the permissions are the same.",
            "Exit codes: 0 if no check fails (warnings are possible), 1 if a check fails; with --fix, 0 if all is fixed.",
            "",
            "Examples:",
            "  weir doctor -c weir.yaml",
            "  weir doctor -b kafka-1:9092 \\",
            "    --service http://weir-1:8680 --service http://weir-2:8680"
        })
final class DoctorCommand implements Callable<Integer> {

    private static final Duration TIMEOUT = Duration.ofSeconds(3);

    @Mixin
    private ClusterOptions cluster;

    @Option(
            names = ServiceUrl.OPTION,
            paramLabel = "URL",
            description = "The URL of the HTTP service of an instance to check. Repeat the option for each instance"
                    + " (default: the environment variable " + ServiceUrl.VARIABLE
                    + ", or the address in the configuration).")
    private List<String> services = new ArrayList<>();

    @Option(
            names = "--service-ca",
            paramLabel = "FILE",
            description = "With https: the PEM file of the certificate authority (default: that of the configuration,"
                    + " or those that Java trusts).")
    private Path serviceCa;

    @Option(
            names = "--fix",
            paramLabel = "PROBLEM",
            description =
                    "Fix a problem instead of running the checks: ${COMPLETION-CANDIDATES}. Transactions that their"
                            + " coordinator has ended are ended in the partitions that lack the marker. Asks before each"
                            + " change.")
    private Fix fix;

    @Option(
            names = "--yes",
            description = "With --fix: do not ask. Transactions whose end is not known are left alone.")
    private boolean yes;

    @Mixin
    private OutputOption output;

    @Spec
    private CommandSpec spec;

    private String lastGroup = "";

    /** The problems that can be fixed. */
    private enum Fix {
        HANGING_TRANSACTIONS;

        @Override
        public String toString() {
            return "hanging-transactions";
        }
    }

    @Override
    public Integer call() throws FaultsException {
        WeirConfig config = cluster.read();
        PrintWriter out = spec.commandLine().getOut();
        if (fix != null) {
            return fixTransactions(config, out);
        }
        boolean areNamed = !services.isEmpty() || ServiceUrl.ofEnvironment().isPresent();
        List<Finding> findings = Doctor.run(config, services(config), areNamed, http(config), finding -> {
            if (output.isTable()) {
                print(finding, out);
                out.flush();
            }
        });
        output.print(tree(findings), DoctorCommand::printCounts);
        return findings.stream().anyMatch(finding -> finding.verdict() == Verdict.FAIL) ? 1 : 0;
    }

    private int fixTransactions(WeirConfig config, PrintWriter out) {
        Scanner in = new Scanner(System.in, StandardCharsets.UTF_8);
        HangingTransactionFix.Result result =
                HangingTransactionFix.run(config, question -> yes || isConfirmed(question, in, out), yes, out::println);
        out.println(result.ended() + " ended, " + result.left() + " left");
        return result.left() == 0 ? 0 : 1;
    }

    private static boolean isConfirmed(String question, Scanner in, PrintWriter out) {
        out.print(SafeText.of(question) + " [y/N] ");
        out.flush();
        return in.hasNextLine() && in.nextLine().trim().equalsIgnoreCase("y");
    }

    private HttpClient http(WeirConfig config) {
        return ServiceClient.trusting(Optional.ofNullable(serviceCa)
                        .or(() -> config.service().tls().flatMap(WeirConfig.Service.Tls::ca)))
                .connectTimeout(TIMEOUT)
                .build();
    }

    private List<URI> services(WeirConfig config) {
        if (!services.isEmpty()) {
            return services.stream()
                    .map(ServiceUrl::ofOption)
                    .map(DoctorCommand::service)
                    .toList();
        }
        Optional<ServiceUrl> variable = ServiceUrl.ofEnvironment();
        if (variable.isPresent()) {
            return List.of(service(variable.get()));
        }
        WeirConfig.Service own = config.service();
        WeirConfig.Service.Listener listener = own.listener();
        if (!own.enabled() || listener.port() == 0) {
            return List.of();
        }
        String host = listener.host().matches("0\\.0\\.0\\.0|\\[?::]?") ? "127.0.0.1" : listener.host();
        boolean isBare = host.contains(":") && !host.startsWith("[");
        return List.of(service(ServiceUrl.ofOption((own.tls().isPresent() ? "https://" : "http://")
                + (isBare ? "[" + host + "]" : host) + ":" + listener.port())));
    }

    private static URI service(ServiceUrl url) {
        if (!url.text().matches("https?://[^/\\s]+/?")) {
            throw url.invalid(null);
        }
        try {
            return URI.create(url.text().replaceAll("/$", ""));
        } catch (IllegalArgumentException e) {
            throw url.invalid(e);
        }
    }

    private void print(Finding finding, PrintWriter out) {
        TextStyle style = TerminalWriter.style(out);
        if (!finding.group().equals(lastGroup)) {
            out.println((lastGroup.isEmpty() ? "" : System.lineSeparator()) + style.heading(finding.group()));
            lastGroup = finding.group();
        }
        String verdict = "%-4s".formatted(finding.verdict());
        out.printf(
                "  %s  %-16s  %s%n",
                switch (finding.verdict()) {
                    case OK -> style.good(verdict);
                    case SKIP -> verdict;
                    case WARN -> style.warning(verdict);
                    case FAIL -> style.bad(verdict);
                },
                finding.check(),
                SafeText.of(finding.found()));
        finding.advice().forEach(advice -> out.println("        " + SafeText.of(advice)));
    }

    private static ObjectNode tree(List<Finding> findings) {
        ObjectNode tree = Json.MAPPER.createObjectNode();
        tree.set("findings", Json.MAPPER.valueToTree(findings));
        ObjectNode counts = tree.putObject("counts");
        for (Verdict verdict : Verdict.values()) {
            counts.put(
                    verdict.name(),
                    findings.stream()
                            .filter(finding -> finding.verdict() == verdict)
                            .count());
        }
        return tree;
    }

    private static void printCounts(JsonNode tree, PrintWriter out) {
        out.println();
        out.println(tree.get("counts").properties().stream()
                .map(count -> count.getValue() + " " + count.getKey())
                .collect(Collectors.joining(", ")));
    }
}
