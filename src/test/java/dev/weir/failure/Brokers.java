package dev.weir.failure;

import dev.weir.dev.JavaProcess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Uuid;

/** Brokers, each with its controller: every topic has a replica on each; of three, two must have a record. */
final class Brokers implements AutoCloseable {

    static final int COUNT = 3;

    /**
     * Kafka's defaults where they matter, but for the one setting that topology-docs/failures.md advises: how soon the
     * transaction of a dead instance is aborted.
     */
    private static final String SETTINGS = """
            process.roles=broker,controller
            node.id=%1$d
            listeners=PLAINTEXT://127.0.0.1:%2$d,CONTROLLER://127.0.0.1:%3$d
            controller.quorum.voters=%4$s
            inter.broker.listener.name=PLAINTEXT
            controller.listener.names=CONTROLLER
            log.dirs=%5$s
            auto.create.topics.enable=false
            default.replication.factor=%6$d
            min.insync.replicas=%7$d
            offsets.topic.replication.factor=%6$d
            offsets.topic.num.partitions=8
            transaction.state.log.replication.factor=%6$d
            transaction.state.log.min.isr=%7$d
            transaction.state.log.num.partitions=8
            share.coordinator.state.topic.replication.factor=%6$d
            share.coordinator.state.topic.num.partitions=1
            transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
            group.initial.rebalance.delay.ms=0
            log.cleaner.dedupe.buffer.size=16777216
            """;

    private final List<Node> nodes = new ArrayList<>();
    private final List<String> addresses = new ArrayList<>();
    private final Admin admin;
    private final int count;

    private static final class Broker extends Node {
        private final Path settings;
        private final String cluster;

        Broker(String name, Path directory, Path settings, String cluster) {
            super(name, directory.resolve(name + ".log"));
            this.settings = settings;
            this.cluster = cluster;
        }

        @Override
        ProcessBuilder command() {
            return JavaProcess.of(
                    List.of("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                    BrokerMain.class,
                    settings.toString(),
                    cluster);
        }
    }

    /** Starts {@value #COUNT}, with their data in {@code directory}. */
    Brokers(Path directory) throws IOException {
        this(directory, COUNT);
    }

    /** Starts so many, with their data in {@code directory}. */
    Brokers(Path directory, int count) throws IOException {
        this.count = count;
        List<Integer> ports = freePorts(2 * count);
        List<String> voters = new ArrayList<>();
        for (int id = 1; id <= count; id++) {
            voters.add(id + "@127.0.0.1:" + ports.get(count + id - 1));
        }
        String cluster = Uuid.randomUuid().toString();
        for (int id = 1; id <= count; id++) {
            String name = "broker-" + id;
            int port = ports.get(id - 1);
            Path settings = Files.writeString(
                    directory.resolve(name + ".properties"),
                    SETTINGS.formatted(
                            id,
                            port,
                            ports.get(count + id - 1),
                            String.join(",", voters),
                            directory.resolve(name),
                            count,
                            Math.max(1, count - 1)));
            nodes.add(new Broker(name, directory, settings, cluster));
            addresses.add("127.0.0.1:" + port);
        }
        for (Node node : nodes) {
            node.start();
        }
        admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers()));
    }

    private static List<Integer> freePorts(int count) throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                sockets.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
            }
            return sockets.stream().map(ServerSocket::getLocalPort).toList();
        } finally {
            for (ServerSocket socket : sockets) {
                socket.close();
            }
        }
    }

    String bootstrapServers() {
        return String.join(",", addresses);
    }

    List<Node> nodes() {
        return nodes;
    }

    Admin admin() {
        return admin;
    }

    /** Whether all brokers are there and every partition has all its replicas in sync. */
    boolean isWhole() throws InterruptedException {
        nodes.forEach(Node::checkAlive);
        try {
            if (admin.describeCluster().nodes().get(5, TimeUnit.SECONDS).size() < count) {
                return false;
            }
            List<String> names = List.copyOf(admin.listTopics(new ListTopicsOptions().listInternal(true))
                    .names()
                    .get(5, TimeUnit.SECONDS));
            return admin.describeTopics(names).allTopicNames().get(5, TimeUnit.SECONDS).values().stream()
                    .map(TopicDescription::partitions)
                    .flatMap(List::stream)
                    .allMatch(partition -> partition.leader() != null
                            && partition.isr().size() == partition.replicas().size());
        } catch (ExecutionException | KafkaException | TimeoutException e) {
            return false;
        }
    }

    String logs() {
        return nodes.stream().map(node -> node.log().toString()).collect(Collectors.joining(", "));
    }

    @Override
    public void close() {
        admin.close(Duration.ZERO);
        for (Node node : nodes) {
            node.close();
        }
    }
}
