package dev.weir.gateway.envoy;

import io.grpc.ServerCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.util.AdvancedTlsX509KeyManager;
import io.grpc.util.AdvancedTlsX509TrustManager;
import io.grpc.util.AdvancedTlsX509TrustManager.Verification;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Optional;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * TLS with PEM files, which are read again when they change.
 *
 * @param certificate the certificate of the server, followed by the intermediate certificates
 * @param key the private key of the certificate, in PKCS #8
 * @param clientCa the certificate authority of the callers, who must then have a certificate; empty to accept all callers
 */
public record EnvoyTls(Path certificate, Path key, Optional<Path> clientCa) {

    private static final long RELOAD_SECONDS = 60;

    /**
     * Checks that the files can be read.
     *
     * @throws IllegalArgumentException if one cannot be read; the message names it
     */
    public void requireReadable() {
        requireReadable("certificate", certificate);
        requireReadable("key", key);
        clientCa.ifPresent(ca -> requireReadable("client-ca", ca));
    }

    /** @throws IllegalArgumentException if a file cannot be read; the message names the file */
    ServerCredentials credentials(ScheduledExecutorService timer) {
        requireReadable();
        TlsServerCredentials.Builder credentials = TlsServerCredentials.newBuilder();
        AdvancedTlsX509KeyManager keys = new AdvancedTlsX509KeyManager();
        try {
            var unused = keys.updateIdentityCredentials(
                    certificate.toFile(), key.toFile(), RELOAD_SECONDS, TimeUnit.SECONDS, timer);
        } catch (IOException | GeneralSecurityException | RuntimeException e) {
            throw unreadable("certificate " + certificate + " or key " + key, e);
        }
        credentials.keyManager(keys);
        clientCa.ifPresent(ca -> requireClients(credentials, ca, timer));
        return credentials.build();
    }

    private static void requireReadable(String setting, Path file) {
        if (!Files.isReadable(file)) {
            throw new IllegalArgumentException("gateway.envoy.tls." + setting + ": the file " + file
                    + (Files.exists(file) ? " cannot be read" : " does not exist"));
        }
    }

    private static void requireClients(
            TlsServerCredentials.Builder credentials, Path ca, ScheduledExecutorService timer) {
        try {
            AdvancedTlsX509TrustManager trust = AdvancedTlsX509TrustManager.newBuilder()
                    .setVerification(Verification.CERTIFICATE_ONLY_VERIFICATION)
                    .build();
            var unused = trust.updateTrustCredentials(ca.toFile(), RELOAD_SECONDS, TimeUnit.SECONDS, timer);
            credentials.trustManager(trust).clientAuth(TlsServerCredentials.ClientAuth.REQUIRE);
        } catch (IOException | GeneralSecurityException | RuntimeException e) {
            throw unreadable("client-ca " + ca, e);
        }
    }

    private static IllegalArgumentException unreadable(String files, Exception cause) {
        return new IllegalArgumentException(
                "gateway.envoy.tls: " + files + " cannot be read as PEM: " + cause.getMessage(), cause);
    }
}
