package dev.weir.failure;

import java.io.OutputStream;
import java.io.PrintStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;

/** A broker with its controller as a process, on the directory that its properties name, formatted if it is new. */
public final class BrokerMain {

    private BrokerMain() {}

    /** @param args the file of the properties and the cluster's id */
    public static void main(String[] args) throws Exception {
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
