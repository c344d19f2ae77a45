package dev.weir.doctor;

import dev.weir.config.WeirConfig;
import dev.weir.doctor.Finding.Verdict;
import dev.weir.kafka.UnreachableException;
import dev.weir.wire.RegistryException;
import java.net.URI;
import java.net.http.HttpClient;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.AuthorizationException;

/**
 * Checks a cluster and this machine as {@code weir run} would use them, with the same permissions. It changes nothing.
 */
public final class Doctor {

    private interface CheckFunction {
        void run(ClusterView cluster, FindingCollector findings);
    }

    private record Check(String group, String name, CheckFunction function) {}

    /** The checks in order. Each may depend on those before it. */
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
            new Check("topics", "existence", TopicChecks::existence),
            new Check("topics", "settings", TopicChecks::settings),
            new Check("topics", "replicas", TopicChecks::replicas),
            new Check("topics", "retention", TopicChecks::retention),
            new Check("topics", "elections", TopicChecks::elections),
            new Check("topics", "transactions", TransactionChecks::check),
            new Check("permissions", "topics", PermissionChecks::topics),
            new Check("permissions", "groups", PermissionChecks::groups),
            new Check("permissions", "transactions", PermissionChecks::transactions),
            new Check("policies", "in force", PolicyTopicCheck::check),
            new Check("application", "instances", ConsumerLagCheck::instances),
            new Check("application", "lag", ConsumerLagCheck::lag),
            new Check("application", "offsets", ConsumerLagCheck::offsets),
            new Check("application", "placement", PlacementCheck::check),
            new Check("application", "service", ServiceChecks::ready),
            new Check("clocks", "controller", ClockChecks::controller),
            new Check("clocks", "brokers", ClockChecks::brokers),
            new Check("clocks", "instances", ServiceChecks::clocks));

    private Doctor() {}

    /**
     * Runs all checks. If no broker responds, the checks that need one are skipped.
     *
     * @param services the services of instances to check
     * @param areServicesNamed whether the user has named them, so that each of them must respond
     * @param http the client for these services
     * @param listener receives each finding immediately
     * @throws ConfigException if Kafka's clients reject the {@code kafka} section
     */
    public static List<Finding> run(
            WeirConfig config,
            List<URI> services,
            boolean areServicesNamed,
            HttpClient http,
            Consumer<Finding> listener) {
        List<Finding> findings = new ArrayList<>();
        try (ClusterView cluster = new ClusterView(config, services, areServicesNamed, http)) {
            for (Check check : CHECKS) {
                FindingCollector collector = new FindingCollector(check.group, check.name, finding -> {
                    findings.add(finding);
                    listener.accept(finding);
                });
                runCheck(check, cluster, collector);
                if (check.name.equals("reachable")
                        && findings.get(findings.size() - 1).verdict() == Verdict.FAIL) {
                    new FindingCollector("brokers", "all else", collector.findings())
                            .skip("no broker responds, so nothing else can be checked");
                    return findings;
                }
            }
        }
        return findings;
    }

    private static void runCheck(Check check, ClusterView cluster, FindingCollector findings) {
        try {
            check.function.run(cluster, findings);
        } catch (ConfigException e) {
            throw e;
        } catch (KafkaException | UnreachableException | RegistryException e) {
            if (isAuthorizationFailure(e)) {
                findings.skip("this user is not permitted: " + UnreachableException.causeMessage(e));
            } else {
                findings.fail(
                        "the check failed: " + UnreachableException.causeMessage(e),
                        "run weir doctor again with --verbose");
            }
        }
    }

    private static boolean isAuthorizationFailure(Throwable failure) {
        return failure instanceof AuthorizationException
                || (failure.getCause() != null && isAuthorizationFailure(failure.getCause()));
    }
}
