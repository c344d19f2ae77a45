package dev.weir.testing;

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

/**
 * A Kafka cluster of several broker processes on the loopback interface, each with a controller. By default, topics
 * have a replica on each broker, and a record is acknowledged when all replicas except one have it.
 */
public final class BrokerCluster implements AutoCloseable {

    /** The size of the smallest cluster that tolerates the failure of one broker. */
    public static final int FAULT_TOLERANT_SIZE = 3;

    private static final Duration PATIENCE = Duration.ofMinutes(4);
    private static final long REQUEST_SECONDS = 5;
    private static final long POLL_MS = 50;

    /**
     * The brokers' settings. The relevant ones are Kafka's defaults, except for one that Weir recommends:
     * {@code transaction.abort.timed.out.transaction.cleanup.interval.ms}, which determines how soon the transaction of
     * a failed instance is aborted.
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

    private final List<ChildProcess> brokers = new ArrayList<>();
    private final List<String> addresses = new ArrayList<>();
    private final Admin admin;
    private final int count;

    private static final class Broker extends ChildProcess {
        private final Path settings;
        private final String cluster;

        Broker(String name, Path directory, Path settings, String cluster) {
            super(name, directory.resolve(name + ".log"));
            this.settings = settings;
            this.cluster = cluster;
        }

        @Override
        protected ProcessBuilder command() {
            return JavaProcess.of(
                    List.of("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                    BrokerProcess.class,
                    settings.toString(),
                    cluster);
        }
    }

    private BrokerCluster(Path directory, int count) throws IOException {
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
            brokers.add(new Broker(name, directory, settings, cluster));
            addresses.add("127.0.0.1:" + port);
        }
        admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers()));
    }

    /**
     * Starts the processes and waits until all brokers have joined.
     *
     * @param directory an existing directory for data, settings and logs
     * @param count the number of brokers, 1 or more
     * @throws IllegalStateException if a broker ends or the brokers do not join in time
     */
    public static BrokerCluster start(Path directory, int count) throws IOException, InterruptedException {
        BrokerCluster cluster = prepare(directory, count);
        try {
            for (ChildProcess broker : cluster.brokers) {
                broker.start();
            }
            cluster.awaitReady();
            return cluster;
        } catch (IOException | InterruptedException | RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    /**
     * Returns a cluster with addresses, whose processes the caller starts.
     *
     * @param directory an existing directory for data, settings and logs
     * @param count the number of brokers, 1 or more
     */
    public static BrokerCluster prepare(Path directory, int count) throws IOException {
        return new BrokerCluster(directory, count);
    }

    /**
     * Waits until all brokers have joined.
     *
     * @throws IllegalStateException if a broker has ended or the brokers do not join in time
     */
    public void awaitReady() throws InterruptedException {
        long startNanos = System.nanoTime();
        while (!isFullyReplicated()) {
            if (System.nanoTime() - startNanos > PATIENCE.toNanos()) {
                throw new IllegalStateException(
                        "the brokers are not ready after %d s: %s".formatted(PATIENCE.toSeconds(), logs()));
            }
            Thread.sleep(POLL_MS);
        }
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

    /** Returns the addresses for {@code bootstrap.servers}. */
    public String bootstrapServers() {
        return String.join(",", addresses);
    }

    /** Returns the processes in the order of their ids. */
    public List<ChildProcess> brokers() {
        return List.copyOf(brokers);
    }

    /** Returns an admin client, which is closed with the cluster. */
    public Admin admin() {
        return admin;
    }

    /** Returns whether all brokers have joined and all replicas of all partitions are in sync. */
    public boolean isFullyReplicated() throws InterruptedException {
        brokers.forEach(ChildProcess::checkAlive);
        try {
            if (admin.describeCluster()
                            .nodes()
                            .get(REQUEST_SECONDS, TimeUnit.SECONDS)
                            .size()
                    < count) {
                return false;
            }
            List<String> names = List.copyOf(admin.listTopics(new ListTopicsOptions().listInternal(true))
                    .names()
                    .get(REQUEST_SECONDS, TimeUnit.SECONDS));
            return admin.describeTopics(names).allTopicNames().get(REQUEST_SECONDS, TimeUnit.SECONDS).values().stream()
                    .map(TopicDescription::partitions)
                    .flatMap(List::stream)
                    .allMatch(partition -> partition.leader() != null
                            && partition.isr().size() == partition.replicas().size());
        } catch (ExecutionException | KafkaException | TimeoutException e) {
            return false;
        }
    }

    private String logs() {
        return brokers.stream().map(broker -> broker.log().toString()).collect(Collectors.joining(", "));
    }

    /** Kills the brokers. */
    @Override
    public void close() {
        admin.close(Duration.ZERO);
        for (ChildProcess broker : brokers) {
            broker.close();
        }
    }
}
