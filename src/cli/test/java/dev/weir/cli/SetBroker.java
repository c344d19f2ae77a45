package dev.weir.cli;

import dev.weir.dev.EmbeddedBroker;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/** Starts embedded brokers with other settings than Weir's. */
public final class SetBroker {

    private SetBroker() {}

    /** Starts a broker on a free port. */
    public static EmbeddedBroker start(Map<String, String> settings) {
        return EmbeddedBroker.start(
                0, new EmbeddedBroker.BrokerOptions(SecurityProtocol.PLAINTEXT, settings, List.of()));
    }
}
