package dev.weir.testing;

import java.io.OutputStream;
import java.io.PrintStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;

/** The main class of a broker with its controller. It ends with the process that started it. */
final class BrokerProcess {

    private BrokerProcess() {}

    /**
     * Runs a broker in the directory {@code log.dirs}, which is formatted if it is new.
     *
     * @param args the properties file and the id of the cluster
     */
    public static void main(String[] args) throws Exception {
        CompletableFuture<Void> unused = ProcessHandle.current()
                .parent()
                .orElseThrow()
                .onExit()
                .thenRun(() -> Runtime.getRuntime().halt(1));
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(Path.of(args[0]))) {
            properties.load(reader);
        }
        String directory = properties.getProperty("log.dirs");
        new Formatter()
                .setPrintStream(new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8))
                .setNodeId(Integer.parseInt(properties.getProperty("node.id")))
                .setClusterId(args[1])
                .setDirectories(List.of(directory))
                .setMetadataLogDirectory(directory)
                .setControllerListenerName(properties.getProperty("controller.listener.names"))
                .setIgnoreFormatted(true)
                .run();
        KafkaRaftServer server = new KafkaRaftServer(new KafkaConfig(properties, false), Time.SYSTEM);
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        server.startup();
        server.awaitShutdown();
    }
}
