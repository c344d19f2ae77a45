package dev.weir.kafka;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Optional;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.utils.Utils;

/** The address of a broker, and whether a broker responds there. */
public record BrokerAddress(String host, int port) {

    /** The request that a broker answers before authentication: {@code ApiVersions}, version 0. */
    private static final short API_VERSIONS = 18;

    private static final int CORRELATION_ID = 0x77656972;
    private static final int HEADER_BYTES = 10;

    /** The first byte of a TLS record that contains an alert. */
    private static final int TLS_ALERT = 21;

    /**
     * Parses {@code host:port}.
     *
     * @throws ConfigException if the text is something else
     */
    public static BrokerAddress parse(String text) {
        String host = Utils.getHost(text);
        Integer port = Utils.getPort(text);
        if (host == null || port == null || port < 1 || port > 65_535) {
            throw new ConfigException("bootstrap.servers", text, "must be host:port");
        }
        return new BrokerAddress(host, port);
    }

    /** Returns why no connection can be made within a time; empty if one can. */
    public Optional<BrokerFailure> connectFailure(Duration limit) {
        try (Socket unused = connect(System.nanoTime() + limit.toNanos())) {
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of(BrokerFailure.ofConnection(e, limit));
        }
    }

    /** Returns why no broker responds within a time to a client without TLS; empty if one does. */
    Optional<BrokerFailure> plaintextFailure(Duration limit) {
        long deadlineNanos = System.nanoTime() + limit.toNanos();
        try (Socket socket = connect(deadlineNanos)) {
            socket.setSoTimeout(remainingMs(deadlineNanos));
            DataOutputStream request = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
            request.writeInt(HEADER_BYTES);
            request.writeShort(API_VERSIONS);
            request.writeShort(0); // version
            request.writeInt(CORRELATION_ID);
            request.writeShort(-1); // without a client id
            request.flush();
            DataInputStream response = new DataInputStream(socket.getInputStream());
            if (response.readInt() >>> 24 == TLS_ALERT) {
                return Optional.of(BrokerFailure.TLS_REQUIRED);
            }
            return response.readInt() == CORRELATION_ID ? Optional.empty() : Optional.of(BrokerFailure.NO_BROKER);
        } catch (EOFException e) {
            return Optional.of(BrokerFailure.NO_BROKER);
        } catch (IOException e) {
            return Optional.of(BrokerFailure.ofConnection(e, limit));
        }
    }

    /** Tries all IP addresses of the host, as Kafka's clients do. */
    private Socket connect(long deadlineNanos) throws IOException {
        IOException failure = new UnknownHostException(host);
        for (InetAddress address : InetAddress.getAllByName(host)) {
            Socket socket = new Socket();
            try {
                socket.connect(new InetSocketAddress(address, port), remainingMs(deadlineNanos));
                return socket;
            } catch (IOException e) {
                socket.close();
                failure = e;
            }
        }
        throw failure;
    }

    private static int remainingMs(long deadlineNanos) {
        return (int) Math.max(1, (deadlineNanos - System.nanoTime()) / 1_000_000);
    }

    @Override
    public String toString() {
        return host + ":" + port;
    }
}
