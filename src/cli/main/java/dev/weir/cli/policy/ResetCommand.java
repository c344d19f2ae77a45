package dev.weir.cli.policy;

import dev.weir.cli.option.AuthorOptions;
import dev.weir.cli.option.ClientOptions;
import dev.weir.cli.option.DurationConverter;
import dev.weir.config.WeirConfig;
import dev.weir.console.ClusterOptions;
import dev.weir.console.InputException;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.FaultsException;
import dev.weir.fault.SafeText;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.RequestRules;
import dev.weir.runtime.RequestSender;
import dev.weir.topics.TopicReader;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "reset",
        mixinStandardHelpOptions = true,
        description = {
            "Frees what a client has used of its limits.",
            "Writes a request of the kind RESET to the request topic and waits for its decision. It frees all limits"
                    + " that apply to requests with this tier and these attributes, or those of one policy. Shared"
                    + " limits are freed for all who share them. Author and reason are headers of the request and of its decision."
        },
        footer = {
            "",
            "Example:",
            "  weir policies reset alice --tier free --policy per-minute --reason \"was charged twice\""
        })
final class ResetCommand implements Callable<Integer> {

    @Mixin
    private ClusterOptions cluster;

    @Mixin
    private AuthorOptions author;

    @Mixin
    private ClientOptions requests;

    @Option(
            names = "--policy",
            paramLabel = "ID",
            description = "Free only the limits of this policy (default: of all policies that apply).")
    private String policyId;

    @Option(
            names = "--timeout",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            defaultValue = "30s",
            description = "How long to wait for the decision (default: ${DEFAULT-VALUE}).")
    private Duration timeout;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws FaultsException {
        WeirConfig config = cluster.connect();
        Request request = request(config.requests().rules());
        Optional<Decision> decision;
        try (TopicReader<Decision> decisions = TopicReader.decisions(config, TopicReader.From.END, true);
                RequestSender sender = new RequestSender(config)) {
            sender.send(request, author.changedBy().headers());
            sender.flush();
            decision = await(decisions, request);
        }
        if (decision.isEmpty()) {
            PrintWriter err = spec.commandLine().getErr();
            err.printf(
                    "weir policies reset: no decision within %s; the usage may still be freed. Is `weir run` running?%n",
                    DurationsAndSizes.duration(timeout.toMillis()));
            return 1;
        }
        return print(decision.get());
    }

    private Request request(RequestRules rules) {
        Request ofAll = Request.builder("reset-" + UUID.randomUUID(), requests.client())
                .kind(RequestKind.RESET)
                .tier(requests.tier())
                .cost(0)
                .attributes(requests.attributes())
                .timestampMs(System.currentTimeMillis())
                .build();
        Request request = ofAll.withPolicyId(policyId);
        rules.check(request).ifPresent(violation -> {
            throw new InputException(violation.detail(), null);
        });
        return request;
    }

    private Optional<Decision> await(TopicReader<Decision> decisions, Request request) {
        Decision[] found = new Decision[1];
        long startNanos = System.nanoTime();
        while (found[0] == null && System.nanoTime() - startNanos < timeout.toNanos()) {
            decisions.poll(Duration.ofMillis(100), decision -> {
                if (decision.requestId().equals(request.requestId())) {
                    found[0] = decision;
                }
            });
        }
        return Optional.ofNullable(found[0]);
    }

    private int print(Decision decision) {
        String name = SafeText.of(requests.client());
        if (decision.reason() == Reason.NO_POLICY) {
            spec.commandLine().getErr().println("weir policies reset: no policy applies to these requests of " + name);
            return 1;
        }
        if (decision.reason() == Reason.POLICY_NOT_APPLICABLE) {
            spec.commandLine()
                    .getErr()
                    .println("weir policies reset: nothing was freed: the policy " + SafeText.of(policyId)
                            + " does not exist or does not apply to these requests of " + name);
            return 1;
        }
        if (decision.outcome() != Outcome.ALLOWED) {
            spec.commandLine()
                    .getErr()
                    .println("weir policies reset: the request of " + name + " was denied: " + decision.reason());
            return 1;
        }
        spec.commandLine()
                .getOut()
                .println("freed the usage of " + name
                        + (policyId == null ? "" : " by " + policyId)
                        + (decision.remaining() == null
                                ? ""
                                : ": %d of %s left".formatted(decision.remaining(), decision.limitedBy())));
        return 0;
    }
}
