package dev.weir.doctor;

import dev.weir.kafka.BrokerAddress;
import dev.weir.kafka.BrokerFailure;
import dev.weir.kafka.KafkaCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.DescribeFeaturesOptions;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.SupportedVersionRange;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/** Checks the brokers, their addresses, the controller and the features of the cluster. */
final class BrokerChecks {

    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(3);

    private static final String TRANSACTION_VERSION = "transaction.version";

    /** From this level on, each transaction has its own producer epoch (KIP-890 part 2). */
    private static final int SAFE_TRANSACTIONS = 2;

    private static final String LATE_REQUEST =
            ": a late request of a transaction that has ended may become part of the next one (KIP-890)";

    /** {@code DescribeQuorum} requires KRaft. */
    static final String NO_QUORUM = "the brokers do not support describing the controller quorum, as in ZooKeeper mode";

    private BrokerChecks() {}

    /** Checks each address on its own, because a client that reaches one address does not try the others. */
    static void reachable(ClusterView cluster, FindingCollector findings) {
        Map<String, Optional<BrokerFailure>> results = cluster.bootstrapServers();
        List<String> responding = new ArrayList<>();
        results.forEach((address, failure) -> {
            if (failure.isEmpty()) {
                responding.add(address);
            }
        });
        results.forEach((address, failure) -> failure.ifPresent(why -> {
            String found = address + ": " + why.reason();
            if (responding.isEmpty()) {
                findings.fail(found, why.advice());
            } else {
                findings.warn(found, why.advice());
            }
        }));
        if (!responding.isEmpty()) {
            findings.ok(String.join(", ", responding));
        }
    }

    /** Checks the addresses that the brokers advertise, which clients use after the first connection. */
    static void cluster(ClusterView cluster, FindingCollector findings) {
        Collection<Node> nodes = cluster.await(cluster.admin().describeCluster().nodes());
        String id = cluster.await(cluster.admin().describeCluster().clusterId());
        for (Node node : nodes) {
            new BrokerAddress(node.host(), node.port())
                    .connectFailure(CONNECT_TIMEOUT)
                    .ifPresent(why -> findings.fail(
                            "broker " + node.id() + " advertises " + node.host() + ":" + node.port()
                                    + ", which cannot be reached: " + why.reason(),
                            "correct advertised.listeners in the broker's server.properties, or start the broker"));
        }
        findings.ok(id + ", " + count(nodes.size(), "broker") + ": "
                + nodes.stream()
                        .map(node -> node.id() + " (" + node.host() + ":" + node.port() + ")")
                        .sorted()
                        .collect(Collectors.joining(", ")));
    }

    static void controller(ClusterView cluster, FindingCollector findings) {
        try {
            QuorumInfo quorum =
                    cluster.await(cluster.admin().describeMetadataQuorum().quorumInfo());
            if (quorum.leaderId() < 0) {
                findings.fail(
                        "there is no active controller: topics cannot be created, and failed leaders are not replaced",
                        cluster.tools().describeQuorum());
                return;
            }
            findings.ok("controller " + quorum.leaderId() + " is active, of "
                    + count(quorum.voters().size(), "voter"));
        } catch (ClusterAuthorizationException e) {
            findings.skip(
                    "this user is not permitted to describe the cluster",
                    cluster.grantCommand("Describe", "--cluster"));
        } catch (UnsupportedVersionException e) {
            findings.skip(NO_QUORUM);
        }
    }

    static void features(ClusterView cluster, FindingCollector findings) {
        Map<String, Integer> levels = new TreeMap<>();
        Map<Integer, Integer> supported = new TreeMap<>();
        for (Node node : cluster.await(cluster.admin().describeCluster().nodes())) {
            FeatureMetadata features = cluster.await(cluster.admin()
                    .describeFeatures(new DescribeFeaturesOptions().nodeId(node.id()))
                    .featureMetadata());
            SupportedVersionRange range = features.supportedFeatures().get(TRANSACTION_VERSION);
            supported.put(node.id(), range == null ? 0 : (int) range.maxVersion());
            features.finalizedFeatures()
                    .forEach((feature, level) -> levels.merge(feature, (int) level.maxVersionLevel(), Math::max));
        }
        features(supported, levels, cluster.tools(), findings);
    }

    /**
     * Checks that transactions are protected from late requests. The level can be finalized only when every broker
     * supports it, so a broker that does not is reported first.
     *
     * @param supported the highest {@code transaction.version} that each broker supports, by broker id; 0 if there
     *     is none
     * @param levels the finalized level of each feature; a feature at level 0 is absent
     */
    static void features(
            Map<Integer, Integer> supported,
            Map<String, Integer> levels,
            KafkaCommands tools,
            FindingCollector findings) {
        List<String> older = new TreeMap<>(supported)
                .entrySet().stream()
                        .filter(broker -> broker.getValue() < SAFE_TRANSACTIONS)
                        .map(broker -> String.valueOf(broker.getKey()))
                        .toList();
        int level = levels.getOrDefault(TRANSACTION_VERSION, 0);
        String upgrade = tools.upgrade(TRANSACTION_VERSION, SAFE_TRANSACTIONS);
        if (!older.isEmpty()) {
            findings.warn(
                    (older.size() == 1
                                    ? "broker " + older.get(0) + " does"
                                    : "brokers " + String.join(", ", older) + " do")
                            + " not support " + TRANSACTION_VERSION + " " + SAFE_TRANSACTIONS + LATE_REQUEST,
                    "upgrade all brokers and controllers to Kafka 4.0 or newer, and then run: " + upgrade);
        } else if (level < SAFE_TRANSACTIONS) {
            findings.warn(TRANSACTION_VERSION + " is " + level + LATE_REQUEST, upgrade);
        } else {
            findings.ok(levels.entrySet().stream()
                    .map(feature -> feature.getKey() + " " + feature.getValue())
                    .sorted()
                    .collect(Collectors.joining(", ")));
        }
    }

    static String count(long count, String one) {
        return count + " " + one + (count == 1 ? "" : "s");
    }
}
