package dev.weir.transaction;

import dev.weir.policy.DurationsAndSizes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.DefaultHostResolver;
import org.apache.kafka.clients.ManualMetadataUpdater;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.NetworkClientUtils;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.internals.LogContext;

/** Sends a single request to one broker, for requests that Kafka's clients have no method for. */
public final class BrokerConnection {

    private static final int TIMEOUT_MS = 10_000;

    private final AdminClientConfig config;

    /** @param settings the properties of an admin client, including those for security */
    public BrokerConnection(Properties settings) {
        config = new AdminClientConfig(settings);
    }

    /**
     * Connects to a broker, sends a request and returns the response.
     *
     * @throws UncheckedIOException if the broker does not respond within 10 s
     */
    public AbstractResponse send(Node broker, AbstractRequest.Builder<?> request) {
        try (Metrics metrics = new Metrics();
                NetworkClient client = ClientUtils.createNetworkClient(
                        config,
                        List.of(broker.host() + ":" + broker.port()),
                        config.getString(AdminClientConfig.CLIENT_ID_CONFIG),
                        metrics,
                        "weir",
                        new LogContext(),
                        new ApiVersions(),
                        Time.SYSTEM,
                        1,
                        TIMEOUT_MS,
                        null,
                        new ManualMetadataUpdater(List.of(broker)),
                        new DefaultHostResolver(),
                        null,
                        null)) {
            if (!NetworkClientUtils.awaitReady(client, broker, Time.SYSTEM, TIMEOUT_MS)) {
                throw new IOException(
                        "no connection to " + broker + " within " + DurationsAndSizes.duration(TIMEOUT_MS));
            }
            ClientRequest message =
                    client.newClientRequest(broker.idString(), request, Time.SYSTEM.milliseconds(), true);
            return NetworkClientUtils.sendAndReceive(client, message, Time.SYSTEM)
                    .responseBody();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
