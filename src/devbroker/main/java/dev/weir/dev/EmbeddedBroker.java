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
import org.apache.logging.log4j.core.LoggerContext;

/**
 * A Kafka broker with its controller in this process, for the demo, for {@code run --dev} and for tests. It listens on
 * the loopback interface only. Its threads keep the JVM alive until it is closed. At the exit of the JVM, brokers with
 * a temporary directory are closed automatically; others must be closed by the caller.
 *
 * <p>Both sockets are bound before Kafka is configured and then passed to it. So the ports are known when the
 * configuration is written, no other process can bind them in between, and a port in use is detected before anything
 * has started.
 */
public final class EmbeddedBroker implements AutoCloseable {

    private static final String SETTINGS = """
            process.roles=broker,controller
            node.id=1
            listeners=CLIENTS://%1$s,CONTROLLER://%2$s
            listener.security.protocol.map=CLIENTS:%3$s,CONTROLLER:PLAINTEXT
            inter.broker.listener.name=CLIENTS
            controller.listener.names=CONTROLLER
            controller.quorum.voters=1@%2$s
            broker.heartbeat.interval.ms=1000
            broker.session.timeout.ms=%4$d
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
            metric.reporters=
            group.min.session.timeout.ms=500
            log.cleaner.dedupe.buffer.size=16777216
            """;

    /** A killed broker can register again only when its session has expired, so it is short if that may happen. */
    private static final long KEPT_SESSION_MS = 3_000;

    /** On a busy machine, a broker whose session has expired has no leaders. */
    private static final long TEMPORARY_SESSION_MS = 60_000;

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
     * The options of a broker.
     *
     * @param protocol the security protocol of clients
     * @param settings broker settings, which override the default ones
     * @param credentials SCRAM credentials in the format of {@code kafka-storage.sh format --add-scram}
     */
    public record BrokerOptions(SecurityProtocol protocol, Map<String, String> settings, List<String> credentials) {
        static final BrokerOptions NONE = new BrokerOptions(SecurityProtocol.PLAINTEXT, Map.of(), List.of());
    }

    private EmbeddedBroker(Path directory, boolean temporary, BrokerOptions further) {
        this.directory = directory.toAbsolutePath();
        this.temporary = temporary;
        this.options = further;
    }

    /** Starts a broker on a free port. Its data is in a temporary directory, which is deleted when it is closed. */
    public static EmbeddedBroker start() {
        return start(0);
    }

    /** Starts a broker on {@code port} (0 for a free port) with its data in a temporary directory. */
    public static EmbeddedBroker start(int port) {
        return start(port, BrokerOptions.NONE);
    }

    /** Like {@link #start(int)}, with options. */
    public static EmbeddedBroker start(int port, BrokerOptions further) {
        try {
            return new EmbeddedBroker(Files.createTempDirectory("weir-broker-"), true, further).startup(port);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create a temporary directory for the broker: " + e.getMessage(), e);
        }
    }

    /**
     * Starts a broker with its data in {@code directory}, which is created if it is missing and kept when the broker
     * is closed.
     *
     * @param port the port for clients; 0 for a free port
     * @throws IllegalStateException if the port or the directory is in use, or Kafka does not start; the message is one
     *     line with the cause
     */
    public static EmbeddedBroker start(Path directory, int port) {
        return new EmbeddedBroker(directory, false, BrokerOptions.NONE).startup(port);
    }

    /** Returns the address for {@code bootstrap.servers}. */
    public String bootstrapServers() {
        return bootstrapServers;
    }

    /** Registers an object to close before this broker is closed. Objects are closed in reverse order. */
    public synchronized void beforeClose(AutoCloseable user) {
        dependents.push(user);
    }

    /** Closes the registered objects, stops the broker and deletes a temporary directory. Repeated calls do nothing. */
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
        settings.load(new StringReader(SETTINGS.formatted(
                address(clientSocket),
                address(controllerSocket),
                options.protocol,
                temporary ? TEMPORARY_SESSION_MS : KEPT_SESSION_MS)));
        settings.putAll(options.settings);
        settings.setProperty("log.dirs", directory.toString());
        Formatter formatter = format(directory.toString(), options.credentials);
        // Like KafkaRaftServer, but with these sockets and with faults that are logged instead of ending the JVM.
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

    /** Closes the brokers with temporary directories, without logging, since clients may lose their connections. */
    private static void closeTemporary() {
        List<EmbeddedBroker> left =
                OPEN.stream().filter(broker -> broker.temporary).toList();
        if (!left.isEmpty()) {
            silenceLogs();
            left.forEach(EmbeddedBroker::close);
        }
    }

    /** Switches all loggers off, unless Log4j's own shutdown hook has already stopped them. */
    private static void silenceLogs() {
        if (LogManager.getContext(false) instanceof LoggerContext context) {
            context.getConfiguration().getLoggers().values().forEach(logger -> logger.setLevel(Level.OFF));
            context.updateLoggers();
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
