package dev.weir.doctor;

import dev.weir.config.WeirConfig;
import dev.weir.doctor.Finding.Verdict;
import dev.weir.topics.UnreachableException;
import java.net.URI;
import java.net.http.HttpClient;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.AuthorizationException;

/** Looks at a cluster, and at this machine, as {@code weir run} would use them, with its rights. It changes nothing. */
public final class Doctor {

    private interface CheckFunction {
        void run(ClusterView cluster, FindingCollector notes);
    }

    private record Check(String group, String name, CheckFunction function) {}

    /** In the order in which one thing needs another. */
    private static final List<Check> CHECKS = List.of(
            new Check("this machine", "java", MachineChecks::java),
            new Check("this machine", "memory", MachineChecks::memory),
            new Check("this machine", "state directory", MachineChecks::stateDirectory),
            new Check("this machine", "configuration", MachineChecks::configuration),
            new Check("brokers", "reachable", BrokerChecks::reachable),
            new Check("brokers", "cluster", BrokerChecks::cluster),
            new Check("brokers", "controller", BrokerChecks::controller),
            new Check("brokers", "features", BrokerChecks::features),
            new Check("brokers", "settings", BrokerSettingChecks::check),
            new Check("topics", "there", TopicChecks::existence),
            new Check("topics", "settings", TopicChecks::settings),
            new Check("topics", "replicas", TopicChecks::replicas),
            new Check("topics", "retention", TopicChecks::retention),
            new Check("topics", "elections", TopicChecks::elections),
            new Check("topics", "transactions", TransactionChecks::check),
            new Check("permissions", "topics", PermissionChecks::topics),
            new Check("permissions", "groups", PermissionChecks::groups),
            new Check("permissions", "transactions", PermissionChecks::transactions),
            new Check("rules", "in force", PolicyTopicCheck::check),
            new Check("application", "instances", ConsumerLagCheck::instances),
            new Check("application", "unread", ConsumerLagCheck::lag),
            new Check("application", "positions", ConsumerLagCheck::positions),
            new Check("application", "placement", PlacementCheck::check),
            new Check("application", "service", ServiceChecks::ready),
            new Check("clocks", "controller", ClockChecks::controller),
            new Check("clocks", "brokers", ClockChecks::brokers),
            new Check("clocks", "instances", ServiceChecks::clocks));

    private Doctor() {}

    /**
     * Does all checks; what needs a broker is left out if none answers.
     *
     * @param services of instances, to be asked how they are
     * @param http what asks them
     * @param told each finding as soon as it is there
     * @throws ConfigException if Kafka's clients do not take the {@code kafka} section
     */
    public static List<Finding> run(WeirConfig config, List<URI> services, HttpClient http, Consumer<Finding> told) {
        List<Finding> findings = new ArrayList<>();
        try (ClusterView cluster = new ClusterView(config, services, http)) {
            for (Check check : CHECKS) {
                FindingCollector notes = new FindingCollector(check.group, check.name, finding -> {
                    findings.add(finding);
                    told.accept(finding);
                });
                runCheck(check, cluster, notes);
                if (check.name.equals("reachable")
                        && findings.get(findings.size() - 1).verdict() == Verdict.FAIL) {
                    new FindingCollector("brokers", "all else", notes.findings()).skip("nothing else can be asked");
                    return findings;
                }
            }
        }
        return findings;
    }

    private static void runCheck(Check check, ClusterView cluster, FindingCollector notes) {
        try {
            check.function.run(cluster, notes);
        } catch (ConfigException e) {
            throw e;
        } catch (KafkaException | UnreachableException e) {
            if (isAuthorizationFailure(e)) {
                notes.skip("not allowed: " + UnreachableException.causeMessage(e));
            } else {
                notes.fail(
                        "cannot be looked at: " + UnreachableException.causeMessage(e), "look again, with --verbose");
            }
        }
    }

    private static boolean isAuthorizationFailure(Throwable failure) {
        return failure instanceof AuthorizationException
                || (failure.getCause() != null && isAuthorizationFailure(failure.getCause()));
    }
}
