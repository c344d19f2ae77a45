package dev.weir.doctor;

import dev.weir.topics.KafkaCommands;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.UnreachableException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeFeaturesOptions;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.SupportedVersionRange;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.utils.Utils;

/** Checks the brokers, their addresses, the controller and the features of the cluster. */
final class BrokerChecks {

    private static final int CONNECT_TIMEOUT_MS = 3_000;

    private static final String TRANSACTION_VERSION = "transaction.version";

    /** From this level on, each transaction has its own producer epoch (KIP-890 part 2). */
    private static final int SAFE_TRANSACTIONS = 2;

    private static final String LATE_REQUEST =
            ": a late request of a transaction that has ended may become part of the next one (KIP-890)";

    /** {@code DescribeQuorum} requires KRaft. */
    static final String NO_QUORUM = "the brokers do not support describing the controller quorum, as in ZooKeeper mode";

    private BrokerChecks() {}

    /** Checks each address on its own, because a client that reaches one address does not try the others. */
    static void reachable(ClusterView cluster, FindingCollector notes) {
        List<String> addresses = Arrays.stream(KafkaSettings.admin(cluster.config())
                        .getProperty("bootstrap.servers")
                        .split(","))
                .map(String::strip)
                .toList();
        Map<String, String> failures = new TreeMap<>();
        for (String address : addresses) {
            clientFailure(cluster, address).ifPresent(why -> failures.put(address, why));
        }
        String advice = "start the broker, or correct kafka.bootstrap.servers in the configuration file"
                + " (or --bootstrap-server)";
        if (failures.size() == addresses.size()) {
            failures.forEach((address, why) -> notes.fail(address + ": " + why, advice));
        } else {
            failures.forEach((address, why) -> notes.warn(address + ": " + why, advice));
            notes.ok(
                    addresses.stream().filter(one -> !failures.containsKey(one)).collect(Collectors.joining(", ")));
        }
    }

    private static Optional<String> clientFailure(ClusterView cluster, String address) {
        if (Utils.getHost(address) == null || Utils.getPort(address) == null) {
            throw new ConfigException("bootstrap.servers", address, "must be host:port");
        }
        Optional<String> closed = connectFailure(Utils.getHost(address), Utils.getPort(address));
        if (closed.isPresent()) {
            return closed;
        }
        Admin alone = cluster.adminOf(address);
        try {
            cluster.await(alone.describeCluster().nodes());
            return Optional.empty();
        } catch (KafkaException | UnreachableException e) {
            return Optional.of(UnreachableException.causeMessage(e));
        } finally {
            alone.close(java.time.Duration.ZERO);
        }
    }

    /** Returns why no connection can be made; empty if one can. */
    private static Optional<String> connectFailure(String host, int port) {
        try (Socket socket = new Socket()) {
            InetSocketAddress address = new InetSocketAddress(host, port);
            if (address.isUnresolved()) {
                return Optional.of("this machine cannot resolve the host name");
            }
            socket.connect(address, CONNECT_TIMEOUT_MS);
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /** Checks the addresses that the brokers advertise, which clients use after the first connection. */
    static void cluster(ClusterView cluster, FindingCollector notes) {
        Collection<Node> nodes = cluster.await(cluster.admin().describeCluster().nodes());
        String id = cluster.await(cluster.admin().describeCluster().clusterId());
        for (Node node : nodes) {
            connectFailure(node.host(), node.port())
                    .ifPresent(why -> notes.fail(
                            "broker " + node.id() + " advertises " + node.host() + ":" + node.port()
                                    + ", which cannot be reached: " + why,
                            "correct advertised.listeners in the broker's server.properties, or start the broker"));
        }
        notes.ok(id + ", " + count(nodes.size(), "broker") + ": "
                + nodes.stream()
                        .map(node -> node.id() + " (" + node.host() + ":" + node.port() + ")")
                        .sorted()
                        .collect(Collectors.joining(", ")));
    }

    static void controller(ClusterView cluster, FindingCollector notes) {
        try {
            QuorumInfo quorum =
                    cluster.await(cluster.admin().describeMetadataQuorum().quorumInfo());
            if (quorum.leaderId() < 0) {
                notes.fail(
                        "there is no active controller: topics cannot be created, and failed leaders are not replaced",
                        cluster.tools().describeQuorum());
                return;
            }
            notes.ok("controller " + quorum.leaderId() + " is active, of "
                    + count(quorum.voters().size(), "voter"));
        } catch (ClusterAuthorizationException e) {
            notes.skip(
                    "this user is not permitted to describe the cluster",
                    cluster.grantCommand("Describe", "--cluster"));
        } catch (UnsupportedVersionException e) {
            notes.skip(NO_QUORUM);
        }
    }

    static void features(ClusterView cluster, FindingCollector notes) {
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
        features(supported, levels, cluster.tools(), notes);
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
            Map<Integer, Integer> supported, Map<String, Integer> levels, KafkaCommands tools, FindingCollector notes) {
        List<String> older = new TreeMap<>(supported)
                .entrySet().stream()
                        .filter(broker -> broker.getValue() < SAFE_TRANSACTIONS)
                        .map(broker -> String.valueOf(broker.getKey()))
                        .toList();
        int level = levels.getOrDefault(TRANSACTION_VERSION, 0);
        String upgrade = tools.upgrade(TRANSACTION_VERSION, SAFE_TRANSACTIONS);
        if (!older.isEmpty()) {
            notes.warn(
                    (older.size() == 1
                                    ? "broker " + older.get(0) + " does"
                                    : "brokers " + String.join(", ", older) + " do")
                            + " not support " + TRANSACTION_VERSION + " " + SAFE_TRANSACTIONS + LATE_REQUEST,
                    "upgrade all brokers and controllers to Kafka 4.0 or newer, and then run: " + upgrade);
        } else if (level < SAFE_TRANSACTIONS) {
            notes.warn(TRANSACTION_VERSION + " is " + level + LATE_REQUEST, upgrade);
        } else {
            notes.ok(levels.entrySet().stream()
                    .map(feature -> feature.getKey() + " " + feature.getValue())
                    .sorted()
                    .collect(Collectors.joining(", ")));
        }
    }

    static String count(long count, String one) {
        return count + " " + one + (count == 1 ? "" : "s");
    }
}
