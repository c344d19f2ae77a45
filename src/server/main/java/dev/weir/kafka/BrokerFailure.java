package dev.weir.kafka;

import dev.weir.policy.DurationsAndSizes;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.time.Duration;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/**
 * Why a broker does not respond, and what to do.
 *
 * @param reason completes "the broker does not respond: …"
 * @param isTimeout whether there was no response in time, so that one may arrive later
 */
public record BrokerFailure(String reason, String advice, boolean isTimeout) {

    private static final String START =
            "start the brokers, or correct --bootstrap-server, WEIR_BOOTSTRAP or kafka.bootstrap.servers";

    static final BrokerFailure TLS_REQUIRED =
            new BrokerFailure("requires TLS", "set kafka.security.protocol to SSL or SASL_SSL", false);

    static final BrokerFailure NO_BROKER = new BrokerFailure(
            "does not use Kafka's protocol",
            "use the port of a listener for clients, and the kafka.security.protocol of that listener",
            false);

    static BrokerFailure noResponse(Duration limit) {
        return new BrokerFailure("no response within " + DurationsAndSizes.rounded(limit.toMillis()), START, true);
    }

    static BrokerFailure ofConnection(IOException failure, Duration limit) {
        if (failure instanceof SocketTimeoutException) {
            return noResponse(limit);
        }
        if (failure instanceof UnknownHostException) {
            return new BrokerFailure("unknown host", START, false);
        }
        String why = UnreachableException.causeMessage(failure);
        return new BrokerFailure(
                failure instanceof ConnectException && why.contains("refused") ? "connection refused" : why,
                START,
                false);
    }

    /** Returns the failure of a broker that accepts connections, but does not complete an exchange with this client. */
    static BrokerFailure noExchange(SecurityProtocol protocol, Duration limit) {
        return switch (protocol) {
            case PLAINTEXT ->
                new BrokerFailure(
                        "no response to a request without a login within "
                                + DurationsAndSizes.rounded(limit.toMillis()),
                        "set kafka.security.protocol to SASL_PLAINTEXT if the listener needs a login; otherwise the broker"
                                + " is slow",
                        true);
            case SASL_PLAINTEXT ->
                new BrokerFailure(
                        "no login within " + DurationsAndSizes.rounded(limit.toMillis()),
                        "check kafka.security.protocol and kafka.sasl.mechanism",
                        true);
            case SSL, SASL_SSL ->
                new BrokerFailure(
                        "no TLS connection within " + DurationsAndSizes.rounded(limit.toMillis()),
                        "check that the brokers use TLS, and kafka.security.protocol",
                        true);
        };
    }

    static BrokerFailure rejected(Throwable failure) {
        return new BrokerFailure(
                UnreachableException.causeMessage(failure),
                "check the login and the certificates in the kafka section",
                false);
    }
}
