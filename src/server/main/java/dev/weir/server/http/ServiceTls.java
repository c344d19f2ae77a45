package dev.weir.server.http;

import dev.weir.config.BadSettingException;
import dev.weir.config.WeirConfig.Service.Tls;
import dev.weir.kafka.PemFiles;
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

/**
 * The certificate and key of the service, and the certificate authority for other instances. The files are reloaded
 * when they change: new connections use the new certificate, without a restart. Invalid files change nothing.
 */
public final class ServiceTls implements AutoCloseable {

    private static final long CHECK_INTERVAL_MS = 5_000;
    private static final Logger LOG = LoggerFactory.getLogger(ServiceTls.class);

    /** The contents of the files. */
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

    /** The key store and trust made from the files. */
    private record KeyMaterial(KeyStore store, X509Certificate certificate, SSLContext trust) {

        static KeyMaterial of(Tls files, Content content) throws IOException {
            if (AccessToken.isWorldReadable(files.key())) {
                LOG.warn("service.tls: every user of this machine can read {}; restrict its permissions", files.key());
            }
            List<X509Certificate> chain = PemFiles.certificates(files.certificate(), content.certificate);
            KeyStore store = PemFiles.keyStore(PemFiles.key(files.key(), content.key, chain.get(0)), chain);
            Optional<Path> ca = files.ca();
            SSLContext trust =
                    ca.isPresent() ? PemFiles.trusting(PemFiles.certificates(ca.get(), content.ca)) : defaultTrust();
            return new KeyMaterial(store, chain.get(0), trust);
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
    private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "service-tls");
        thread.setDaemon(true);
        return thread;
    });
    private Content currentFiles;
    private String fault = "";
    private volatile KeyMaterial keyMaterial;

    private ServiceTls(Tls files, Content content, KeyMaterial loaded) {
        this.files = files;
        this.currentFiles = content;
        this.keyMaterial = loaded;
        var unused = scheduler.scheduleWithFixedDelay(
                this::reloadIfChanged, CHECK_INTERVAL_MS, CHECK_INTERVAL_MS, TimeUnit.MILLISECONDS);
    }

    /** @throws BadSettingException if a file cannot be read or is invalid */
    public static ServiceTls open(Tls files) {
        try {
            Content content = Content.read(files);
            return new ServiceTls(files, content, KeyMaterial.of(files, content));
        } catch (IOException e) {
            throw new BadSettingException("service.tls: " + e.getMessage(), e);
        }
    }

    /** Creates the TLS settings of a listener. They are updated when the files change. */
    public synchronized SslContextFactory.Server server() {
        SslContextFactory.Server server = new SslContextFactory.Server();
        server.setKeyStorePassword("");
        server.setKeyStore(keyMaterial.store());
        servers.add(server);
        return server;
    }

    /** Passes the SSL context for requests to other instances to a consumer, now and each time the files change. */
    public synchronized void addClient(Consumer<SSLContext> client) {
        client.accept(keyMaterial.trust());
        clients.add(client);
    }

    /** Returns when the certificate expires. */
    public Instant validUntil() {
        return keyMaterial.certificate().getNotAfter().toInstant();
    }

    /**
     * Reads the files, and uses them if they have changed.
     *
     * @return the fault of the files; empty if they are valid
     */
    synchronized String reloadIfChanged() {
        String before = fault;
        try {
            Content content = Content.read(files);
            if (!content.isSameAs(currentFiles)) {
                load(content);
            }
            fault = "";
            if (!before.isEmpty()) {
                LOG.warn("service.tls: the files are valid again; the certificate is valid until {}", validUntil());
            }
        } catch (Exception e) { // an exception would end the schedule
            fault = String.valueOf(e.getMessage());
            if (!fault.equals(before)) {
                LOG.error("service.tls: the files are invalid, so the previous certificate stays in use: {}", fault);
            }
        }
        return fault;
    }

    private void load(Content content) throws Exception {
        KeyMaterial next = KeyMaterial.of(files, content);
        for (SslContextFactory.Server server : servers) {
            server.reload(changed -> changed.setKeyStore(next.store()));
        }
        clients.forEach(client -> client.accept(next.trust()));
        keyMaterial = next;
        currentFiles = content;
        LOG.info("service.tls: the changed files were loaded; the certificate is valid until {}", validUntil());
    }

    @Override
    public void close() {
        scheduler.shutdownNow();
    }
}
