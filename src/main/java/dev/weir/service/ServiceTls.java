package dev.weir.service;

import dev.weir.app.PemFiles;
import dev.weir.config.WeirConfig.Service.Tls;
import java.io.IOException;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.NoSuchAlgorithmException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import javax.net.ssl.SSLContext;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * The certificate and key of the service, and what it trusts other instances by. The files are read again when they
 * change: new connections get the new certificate, without a restart. Files that are not good change nothing.
 */
final class ServiceTls implements AutoCloseable {

    private static final long LOOK_EVERY_MS = 5_000;
    private static final Logger LOG = LoggerFactory.getLogger(ServiceTls.class);

    /** What the files hold. */
    private record Content(byte[] certificate, byte[] key, byte[] ca) {

        static Content read(Tls files) throws IOException {
            Optional<Path> ca = files.ca();
            return new Content(
                    PemFiles.read(files.certificate()),
                    PemFiles.read(files.key()),
                    ca.isPresent() ? PemFiles.read(ca.get()) : new byte[0]);
        }

        boolean isSameAs(Content other) {
            return Arrays.equals(certificate, other.certificate)
                    && Arrays.equals(key, other.key)
                    && Arrays.equals(ca, other.ca);
        }
    }

    /** What was made of it. */
    private record Loaded(KeyStore store, X509Certificate certificate, SSLContext trust) {

        static Loaded of(Tls files, Content content) throws IOException {
            if (Token.isOpen(files.key())) {
                LOG.warn("service.tls: every user of this machine can read {}", files.key());
            }
            List<X509Certificate> chain = PemFiles.certificates(files.certificate(), content.certificate);
            KeyStore store = PemFiles.keyStore(PemFiles.key(files.key(), content.key, chain.get(0)), chain);
            Optional<Path> ca = files.ca();
            SSLContext trust =
                    ca.isPresent() ? PemFiles.trusting(PemFiles.certificates(ca.get(), content.ca)) : defaultTrust();
            return new Loaded(store, chain.get(0), trust);
        }

        private static SSLContext defaultTrust() {
            try {
                return SSLContext.getDefault();
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private final Tls files;
    private final List<SslContextFactory.Server> servers = new ArrayList<>();
    private final List<Consumer<SSLContext>> clients = new ArrayList<>();
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "service-tls");
        thread.setDaemon(true);
        return thread;
    });
    private Content seen;
    private String fault = "";
    private volatile Loaded loaded;

    private ServiceTls(Tls files, Content content, Loaded loaded) {
        this.files = files;
        this.seen = content;
        this.loaded = loaded;
        var unused = clock.scheduleWithFixedDelay(this::look, LOOK_EVERY_MS, LOOK_EVERY_MS, TimeUnit.MILLISECONDS);
    }

    /** @throws BadSettingException if a file cannot be read, or is not what it should be */
    static ServiceTls open(Tls files) {
        try {
            Content content = Content.read(files);
            return new ServiceTls(files, content, Loaded.of(files, content));
        } catch (IOException e) {
            throw new BadSettingException("service.tls: " + e.getMessage(), e);
        }
    }

    /** What a listener speaks TLS by, now and after the files change. */
    synchronized SslContextFactory.Server server() {
        SslContextFactory.Server server = new SslContextFactory.Server();
        server.setKeyStorePassword("");
        server.setKeyStore(loaded.store());
        servers.add(server);
        return server;
    }

    /** Gives what other instances are trusted by, now and each time when the files have changed. */
    synchronized void trust(Consumer<SSLContext> client) {
        client.accept(loaded.trust());
        clients.add(client);
    }

    /** When the certificate ends to be valid. */
    Instant validUntil() {
        return loaded.certificate().getNotAfter().toInstant();
    }

    /** Reads the files again if they have changed. */
    synchronized void look() {
        try {
            Content content = Content.read(files);
            if (content.isSameAs(seen)) {
                return;
            }
            seen = content;
            load(Loaded.of(files, content));
            LOG.atLevel(fault.isEmpty() ? Level.INFO : Level.WARN) // whoever mends them reads that they are good
                    .log("service.tls: the files have changed; the certificate is valid until {}", validUntil());
            fault = "";
        } catch (Exception e) { // whatever it is, the look after this one must come
            String next = String.valueOf(e.getMessage());
            if (!next.equals(fault)) {
                LOG.error("service.tls: the certificate stays as it was: {}", next);
            }
            fault = next;
        }
    }

    private void load(Loaded next) throws Exception {
        for (SslContextFactory.Server server : servers) {
            server.reload(changed -> changed.setKeyStore(next.store()));
        }
        clients.forEach(client -> client.accept(next.trust()));
        loaded = next;
    }

    @Override
    public void close() {
        clock.shutdownNow();
    }
}
