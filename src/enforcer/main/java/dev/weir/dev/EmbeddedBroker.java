package dev.weir.dev;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import kafka.server.BrokerServer;
import kafka.server.ControllerServer;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.server.SharedServer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.metadata.properties.MetaPropertiesEnsemble;
import org.apache.kafka.metadata.storage.Formatter;
import org.apache.kafka.server.fault.LoggingFaultHandler;
import org.apache.kafka.server.util.FileLock;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.config.Configurator;

/**
 * One real Kafka broker with its controller, in this process and on loopback only: for the demo, for {@code run --dev}
 * and for tests. Its threads keep the JVM alive until it is closed. When the JVM exits or is interrupted, one with a
 * temporary directory is closed; one on a directory of the caller's is left to the caller, who knows the order.
 *
 * <p>Both sockets are bound before Kafka is configured and then handed to it. So the ports are known when the
 * configuration is written, nobody can take them in between, and a taken port is found before anything has started.
 */
public final class EmbeddedBroker implements AutoCloseable {
    /** The short broker session is for restarts: after a kill the controller lets the broker in when it has expired. */
    private static final String SETTINGS = """
            process.roles=broker,controller
            node.id=1
            listeners=CLIENTS://%1$s,CONTROLLER://%2$s
            listener.security.protocol.map=CLIENTS:%3$s,CONTROLLER:PLAINTEXT
            inter.broker.listener.name=CLIENTS
            controller.listener.names=CONTROLLER
            controller.quorum.voters=1@%2$s
            broker.heartbeat.interval.ms=1000
            broker.session.timeout.ms=3000
            auto.create.topics.enable=false
            offsets.topic.replication.factor=1
            offsets.topic.num.partitions=4
            transaction.state.log.replication.factor=1
            transaction.state.log.min.isr=1
            transaction.state.log.num.partitions=4
            transaction.abort.timed.out.transaction.cleanup.interval.ms=500
            share.coordinator.state.topic.replication.factor=1
            share.coordinator.state.topic.min.isr=1
            share.coordinator.state.topic.num.partitions=1
            group.initial.rebalance.delay.ms=0
            group.min.session.timeout.ms=500
            log.cleaner.dedupe.buffer.size=16777216
            """;

    private static final Set<EmbeddedBroker> OPEN = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(EmbeddedBroker::closeTemporary));
    }

    private final Path directory;
    private final boolean temporary;
    private final BrokerOptions options;
    private final Deque<AutoCloseable> dependents = new ArrayDeque<>();
    private FileLock lock;
    private ServerSocketChannel clientSocket;
    private ServerSocketChannel controllerSocket;
    private ControllerServer controller;
    private BrokerServer broker;
    private String bootstrapServers;

    /**
     * What a broker is given beyond its own settings, or over them.
     *
     * @param protocol the security protocol that clients speak
     * @param settings of the broker
     * @param credentials as {@code kafka-storage.sh format --add-scram} takes them
     */
    public record BrokerOptions(SecurityProtocol protocol, Map<String, String> settings, List<String> credentials) {
        static final BrokerOptions NONE = new BrokerOptions(SecurityProtocol.PLAINTEXT, Map.of(), List.of());
    }

    private EmbeddedBroker(Path directory, boolean temporary, BrokerOptions further) {
        this.directory = directory.toAbsolutePath();
        this.temporary = temporary;
        this.options = further;
    }

    /** Starts a broker on a free port. Its data is in a temporary directory, which goes when it is closed. */
    public static EmbeddedBroker start() {
        return start(0);
    }

    /** Starts a broker on {@code port} (0: a free one) with its data in a temporary directory. */
    public static EmbeddedBroker start(int port) {
        return start(port, BrokerOptions.NONE);
    }

    /** As {@link #start(int)}, with settings of the caller's. */
    public static EmbeddedBroker start(int port, BrokerOptions further) {
        try {
            return new EmbeddedBroker(Files.createTempDirectory("weir-broker-"), true, further).startup(port);
        } catch (IOException e) {
            throw new UncheckedIOException("no temporary directory for the broker: " + e.getMessage(), e);
        }
    }

    /**
     * Starts a broker that keeps its data in {@code directory}, created if missing; a later start finds it there.
     *
     * @param port the port for clients; 0 takes a free one
     * @throws IllegalStateException if the port is taken, the directory is in use, or Kafka does not start; the message
     *     is one line and names which
     */
    public static EmbeddedBroker start(Path directory, int port) {
        return new EmbeddedBroker(directory, false, BrokerOptions.NONE).startup(port);
    }

    /** The address for {@code bootstrap.servers}. */
    public String bootstrapServers() {
        return bootstrapServers;
    }

    /** Registers who must be closed before this broker is, by whatever closes it; the last registered goes first. */
    public synchronized void beforeClose(AutoCloseable user) {
        dependents.push(user);
    }

    /** Closes its users, stops, waits, and deletes a temporary directory. A second call does nothing. */
    @Override
    public synchronized void close() {
        if (!OPEN.remove(this)) {
            return;
        }
        dependents.forEach(user -> Utils.closeQuietly(user, "user of the embedded broker"));
        if (broker != null) {
            broker.shutdown();
            broker.awaitShutdown();
            controller.shutdown();
            controller.awaitShutdown();
        }
        Utils.closeQuietly(clientSocket, "client socket");
        Utils.closeQuietly(controllerSocket, "controller socket");
        Utils.closeQuietly(lock == null ? null : lock::unlockAndClose, "directory lock");
        if (temporary) {
            Utils.closeQuietly(() -> Utils.delete(directory.toFile()), "temporary directory");
        }
    }

    Path directory() {
        return directory;
    }

    private synchronized EmbeddedBroker startup(int port) {
        OPEN.add(this);
        try {
            lock = lock(directory);
            clientSocket = bind(port);
            controllerSocket = bind(0);
            bootstrapServers = address(clientSocket);
            create();
            controller.startup();
            broker.startup();
            return this;
        } catch (Exception e) {
            close();
            throw new IllegalStateException("the broker did not start: " + e.getMessage(), e);
        }
    }

    private void create() throws Exception {
        Properties settings = new Properties();
        settings.load(new StringReader(
                SETTINGS.formatted(address(clientSocket), address(controllerSocket), options.protocol)));
        settings.putAll(options.settings);
        settings.setProperty("log.dirs", directory.toString());
        Formatter formatter = format(directory.toString(), options.credentials);
        // What KafkaRaftServer does, but with these sockets, and with faults that are logged instead of ending the JVM.
        SharedServer shared = new SharedServer(
                new KafkaConfig(settings, false),
                metaProperties(directory.toString()),
                Time.SYSTEM,
                new Metrics(),
                CompletableFuture.completedFuture(Map.of(1, (InetSocketAddress) controllerSocket.getLocalAddress())),
                List.of(),
                (name, fatal, action) -> new LoggingFaultHandler(name, action),
                (listener, address, backlog, bufferBytes) ->
                        listener.equals("CONTROLLER") ? controllerSocket : clientSocket);
        controller = new ControllerServer(shared, KafkaRaftServer.configSchema(), formatter.bootstrapMetadata());
        broker = new BrokerServer(shared);
    }

    /** Silently: what still uses a broker loses it now, which is no news to who ends the process. */
    private static void closeTemporary() {
        List<EmbeddedBroker> left =
                OPEN.stream().filter(broker -> broker.temporary).toList();
        if (!left.isEmpty()) {
            Configurator.setAllLevels(LogManager.ROOT_LOGGER_NAME, Level.OFF);
            left.forEach(EmbeddedBroker::close);
        }
    }

    private static Formatter format(String directory, List<String> credentials) throws Exception {
        Formatter formatter = new Formatter()
                .setPrintStream(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8))
                .setNodeId(1)
                .setClusterId(metaProperties(directory).clusterId().orElseGet(() -> Uuid.randomUuid()
                        .toString()))
                .setDirectories(List.of(directory))
                .setMetadataLogDirectory(directory)
                .setControllerListenerName("CONTROLLER")
                .setScramArguments(credentials)
                .setIgnoreFormatted(true);
        formatter.run();
        return formatter;
    }

    private static MetaPropertiesEnsemble metaProperties(String directory) throws IOException {
        return new MetaPropertiesEnsemble.Loader()
                .addMetadataLogDir(directory)
                .addLogDirs(List.of(directory))
                .load();
    }

    private static FileLock lock(Path directory) throws IOException {
        Files.createDirectories(directory);
        FileLock lock = new FileLock(directory.resolve("embedded.lock").toFile());
        if (!lock.tryLock()) {
            lock.unlockAndClose();
            throw new IOException(directory + " is in use by another broker");
        }
        return lock;
    }

    private static ServerSocketChannel bind(int port) throws IOException {
        ServerSocketChannel socket = ServerSocketChannel.open();
        try {
            socket.configureBlocking(false);
            return socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        } catch (IOException e) {
            socket.close();
            throw new IOException("port " + port + ": " + e.getMessage(), e);
        }
    }

    private static String address(ServerSocketChannel socket) {
        return Utils.formatAddress(
                InetAddress.getLoopbackAddress().getHostAddress(),
                socket.socket().getLocalPort());
    }
}
