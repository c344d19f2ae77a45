package dev.weir.cli;

import dev.weir.dev.EmbeddedBroker;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/**
 * A broker that requires TLS and SCRAM and denies operations that no ACL grants. The JDK's {@code keytool} creates its
 * certificate. The listener of the controller, which clients do not use, is open.
 */
public final class SecuredBroker implements AutoCloseable {

    private static final String ADMIN = "admin";
    private static final String STORE_PASSWORD = "store-pass-7h3fd1";
    private static final String LOGIN =
            "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"%s\" password=\"%s\";";

    private final EmbeddedBroker broker;
    private final Path trusted;

    private SecuredBroker(EmbeddedBroker broker, Path trusted) {
        this.broker = broker;
        this.trusted = trusted;
    }

    /**
     * Starts a broker on a free port.
     *
     * @param directory the directory for the certificate
     * @param users the users that can log in. The superuser {@code admin} can log in too.
     */
    public static SecuredBroker start(Path directory, String... users) throws Exception {
        Path keys = keyPair(directory);
        Path trusted = trust(keys, directory.resolve("trusted.p12"));
        Map<String, String> settings = new TreeMap<>(Map.of(
                "authorizer.class.name",
                "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "allow.everyone.if.no.acl.found",
                "false",
                "super.users",
                "User:admin;User:ANONYMOUS", // connections by the listener of the controller
                "sasl.enabled.mechanisms",
                "SCRAM-SHA-512",
                "sasl.mechanism.inter.broker.protocol",
                "SCRAM-SHA-512",
                "listener.name.clients.scram-sha-512.sasl.jaas.config",
                LOGIN.formatted(ADMIN, password(ADMIN)),
                "ssl.keystore.location",
                keys.toString(),
                "ssl.keystore.password",
                STORE_PASSWORD,
                "ssl.truststore.location",
                trusted.toString(),
                "ssl.truststore.password",
                STORE_PASSWORD));
        List<String> credentials = Stream.concat(Stream.of(ADMIN), Stream.of(users))
                .map(user -> "SCRAM-SHA-512=[name=" + user + ",password=" + password(user) + "]")
                .toList();
        EmbeddedBroker broker = EmbeddedBroker.start(
                0, new EmbeddedBroker.BrokerOptions(SecurityProtocol.SASL_SSL, settings, credentials));
        return new SecuredBroker(broker, trusted);
    }

    /** Returns the client settings of the superuser. */
    public Map<String, String> admin() {
        return client(ADMIN, password(ADMIN));
    }

    /** Returns the client settings of a user. */
    public Map<String, String> client(String user, String password) {
        return new TreeMap<>(Map.of(
                "bootstrap.servers",
                broker.bootstrapServers(),
                "security.protocol",
                "SASL_SSL",
                "sasl.mechanism",
                "SCRAM-SHA-512",
                "sasl.jaas.config",
                LOGIN.formatted(user, password),
                "ssl.truststore.location",
                trusted.toString(),
                "ssl.truststore.password",
                STORE_PASSWORD));
    }

    public static String password(String user) {
        return user + "-pass-" + Integer.toHexString(user.hashCode());
    }

    /** Returns the password of the truststore: the secret in {@link #client} besides the user's password. */
    public static String storePassword() {
        return STORE_PASSWORD;
    }

    @Override
    public void close() {
        broker.close();
    }

    private static Path keyPair(Path directory) throws IOException, InterruptedException {
        Path keys = directory.resolve("broker.p12");
        Path tool = Path.of(System.getProperty("java.home"), "bin", "keytool");
        Process made = new ProcessBuilder(
                        (tool + " -genkeypair -alias broker -keyalg EC -dname CN=localhost -validity 2"
                                        + " -ext san=dns:localhost,ip:127.0.0.1 -storetype PKCS12 -keystore " + keys
                                        + " -storepass " + STORE_PASSWORD)
                                .split(" "))
                .redirectErrorStream(true)
                .start();
        String output = new String(made.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        if (made.waitFor() != 0) {
            throw new IOException("keytool: " + output);
        }
        return keys;
    }

    private static Path trust(Path keys, Path trusted) throws IOException, GeneralSecurityException {
        KeyStore from = KeyStore.getInstance(keys.toFile(), STORE_PASSWORD.toCharArray());
        KeyStore to = KeyStore.getInstance("PKCS12");
        to.load(null, null);
        to.setCertificateEntry("broker", from.getCertificate("broker"));
        try (OutputStream out = Files.newOutputStream(trusted)) {
            to.store(out, STORE_PASSWORD.toCharArray());
        }
        return trusted;
    }
}
