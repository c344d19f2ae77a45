package dev.weir.testing;

import dev.weir.dev.EmbeddedBroker;
import java.util.Map;

/**
 * The broker that all tests of a JVM share. It starts when the first test needs it and is closed when the JVM exits.
 * Tests keep apart by the prefix of their topics and by their application id, so both must be unique in this module.
 */
public final class TestBroker {

    private static EmbeddedBroker broker;

    private TestBroker() {}

    public static synchronized EmbeddedBroker shared() {
        if (broker == null) {
            broker = EmbeddedBroker.start();
        }
        return broker;
    }

    /** Returns the Kafka properties for the shared broker. */
    public static Map<String, String> clientSettings() {
        return clientSettings(shared().bootstrapServers());
    }

    /** Returns the Kafka properties for a broker. */
    public static Map<String, String> clientSettings(String bootstrapServers) {
        return Map.of("bootstrap.servers", bootstrapServers);
    }
}
