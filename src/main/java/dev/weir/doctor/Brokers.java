package dev.weir.doctor;

import dev.weir.app.KafkaSettings;
import dev.weir.app.UnreachableException;
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
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.utils.Utils;

/** Whether there are brokers, and which. */
final class Brokers {

    private static final int CONNECT_MS = 3_000;

    /** The first of transactions that a late request of one that is over cannot reopen (KIP-890). */
    private static final int SAFE_TRANSACTIONS = 2;

    private Brokers() {}

    /** Each address by itself: a client is content with one, until that is the one that is away. */
    static void reachable(Cluster cluster, Notes notes) {
        List<String> addresses = Arrays.stream(KafkaSettings.admin(cluster.config())
                        .getProperty("bootstrap.servers")
                        .split(","))
                .map(String::strip)
                .toList();
        Map<String, String> failures = new TreeMap<>();
        for (String address : addresses) {
            failure(cluster, address).ifPresent(why -> failures.put(address, why));
        }
        String advice =
                "start it, or correct kafka.bootstrap.servers in the configuration file (or --bootstrap-server)";
        if (failures.size() == addresses.size()) {
            failures.forEach((address, why) -> notes.fail(address + ": " + why, advice));
        } else {
            failures.forEach((address, why) -> notes.warn(address + ": " + why, advice));
            notes.ok(
                    addresses.stream().filter(one -> !failures.containsKey(one)).collect(Collectors.joining(", ")));
        }
    }

    private static Optional<String> failure(Cluster cluster, String address) {
        if (Utils.getHost(address) == null || Utils.getPort(address) == null) {
            throw new ConfigException("bootstrap.servers", address, "must be host:port");
        }
        Optional<String> closed = closed(Utils.getHost(address), Utils.getPort(address));
        if (closed.isPresent()) {
            return closed;
        }
        Admin alone = cluster.adminOf(address);
        try {
            cluster.await(alone.describeCluster().nodes());
            return Optional.empty();
        } catch (KafkaException | UnreachableException e) {
            return Optional.of(UnreachableException.why(e));
        } finally {
            alone.close(java.time.Duration.ZERO);
        }
    }

    /** Why no connection can be made. */
    private static Optional<String> closed(String host, int port) {
        try (Socket socket = new Socket()) {
            InetSocketAddress address = new InetSocketAddress(host, port);
            if (address.isUnresolved()) {
                return Optional.of("this machine does not know the name");
            }
            socket.connect(address, CONNECT_MS);
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /** Clients go on to the addresses that brokers tell: those must be reached from here too. */
    static void cluster(Cluster cluster, Notes notes) {
        Collection<Node> nodes = cluster.await(cluster.admin().describeCluster().nodes());
        String id = cluster.await(cluster.admin().describeCluster().clusterId());
        for (Node node : nodes) {
            closed(node.host(), node.port())
                    .ifPresent(why -> notes.fail(
                            "broker " + node.id() + " tells clients to come to " + node.host() + ":" + node.port()
                                    + ": " + why,
                            "correct advertised.listeners in its server.properties, or start it"));
        }
        notes.ok(id + ", " + count(nodes.size(), "broker") + ": "
                + nodes.stream()
                        .map(node -> node.id() + " (" + node.host() + ":" + node.port() + ")")
                        .sorted()
                        .collect(Collectors.joining(", ")));
    }

    static void controller(Cluster cluster, Notes notes) {
        try {
            QuorumInfo quorum =
                    cluster.await(cluster.admin().describeMetadataQuorum().quorumInfo());
            if (quorum.leaderId() < 0) {
                notes.fail(
                        "none: no topic can be made, and no broker that is lost is replaced",
                        cluster.tools().describeQuorum());
                return;
            }
            notes.ok(quorum.leaderId() + " of " + count(quorum.voters().size(), "voter"));
        } catch (ClusterAuthorizationException e) {
            notes.skip("not allowed", cluster.grant("Describe", "--cluster"));
        }
    }

    static void features(Cluster cluster, Notes notes) {
        Map<String, FinalizedVersionRange> levels = cluster.await(
                        cluster.admin().describeFeatures().featureMetadata())
                .finalizedFeatures();
        FinalizedVersionRange transactions = levels.get("transaction.version");
        if (transactions == null || transactions.maxVersionLevel() < SAFE_TRANSACTIONS) {
            notes.warn(
                    "transaction.version is " + (transactions == null ? "not set" : transactions.maxVersionLevel())
                            + ": a late request may leave a transaction open for good (KIP-890)",
                    cluster.tools().upgrade("transaction.version", SAFE_TRANSACTIONS));
            return;
        }
        notes.ok(new TreeMap<>(levels)
                .entrySet().stream()
                        .map(level -> level.getKey() + " " + level.getValue().maxVersionLevel())
                        .collect(Collectors.joining(", ")));
    }

    static String count(long count, String one) {
        return count + " " + one + (count == 1 ? "" : "s");
    }
}
