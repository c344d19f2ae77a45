package dev.weir.server.http;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.api.PeerInstances;
import dev.weir.api.WeirService;
import dev.weir.config.BadSettingException;
import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.Service;
import dev.weir.kafka.PemFiles;
import dev.weir.testing.TestCertificate;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class ServiceTlsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final AccessToken TOKEN = AccessToken.fromEnvironment(Map.of("WEIR_TOKEN", "token-of-the-tests"))
            .orElseThrow();

    @TempDir
    private Path directory;

    private TestCertificate made;
    private Service.Tls files;
    private WeirService service;

    @BeforeEach
    void start() throws Exception {
        made = TestCertificate.make(directory, "first", "EC");
        files = new Service.Tls(
                directory.resolve("tls.crt"), directory.resolve("tls.key"), Optional.of(directory.resolve("ca.crt")));
        install(made);
        service = open(files);
    }

    @AfterEach
    void stop() {
        service.close();
    }

    private static WeirService open(Service.Tls files) {
        Service settings = Service.DEFAULTS.withPort(0).withTls(files);
        return WeirService.open(
                WeirConfig.DEFAULTS.toBuilder().service(settings).build(), Map.of());
    }

    private void install(TestCertificate from) throws IOException {
        Files.copy(from.key(), files.key(), StandardCopyOption.REPLACE_EXISTING);
        Files.copy(from.certificate(), files.ca().orElseThrow(), StandardCopyOption.REPLACE_EXISTING);
        Files.copy(from.certificate(), files.certificate(), StandardCopyOption.REPLACE_EXISTING);
    }

    private static HttpResponse<String> get(String url, Path ca) throws IOException, InterruptedException {
        HttpClient client =
                HttpClient.newBuilder().sslContext(PemFiles.trusting(ca)).build();
        HttpRequest request =
                HttpRequest.newBuilder(URI.create(url)).timeout(PATIENCE).build();
        return client.send(request, BodyHandlers.ofString());
    }

    /** Returns the subject of the certificate at a port. */
    private String name(int port) throws IOException {
        try (SSLSocket socket = (SSLSocket)
                PemFiles.trusting(files.ca().orElseThrow()).getSocketFactory().createSocket("127.0.0.1", port)) {
            socket.startHandshake();
            X509Certificate certificate = (X509Certificate) socket.getSession().getPeerCertificates()[0];
            return certificate.getSubjectX500Principal().getName();
        }
    }

    @Test
    void both_ports_accept_only_tls() throws Exception {
        assertThat(service.url()).startsWith("https://127.0.0.1:");
        assertThat(get(service.url() + "/v1/openapi.json", made.certificate()).statusCode())
                .isEqualTo(200);
        assertThat(get(service.healthUrl() + "/health/live", made.certificate()).statusCode())
                .isEqualTo(200);
        Path other = TestCertificate.make(directory, "other", "EC").certificate();
        assertThatThrownBy(() -> get(service.url() + "/health/live", other)).isInstanceOf(SSLException.class);
        assertThatThrownBy(() -> get("http://" + service.address() + "/health/live", made.certificate()))
                .isInstanceOf(IOException.class);
    }

    /** Probes use an address that the certificate does not have. */
    @Test
    void the_host_header_is_checked_as_without_tls() throws Exception {
        assertThat(firstLine(service.healthPort(), "/health/ready", "10.1.2.3"))
                .isEqualTo("HTTP/1.1 503 Service Unavailable");
        assertThat(firstLine(service.port(), "/health/live", "10.1.2.3")).isEqualTo("HTTP/1.1 200 OK");
        assertThat(firstLine(service.port(), "/v1/policies", "evil.example")).startsWith("HTTP/1.1 421 ");
    }

    private String firstLine(int port, String path, String host) throws IOException {
        try (Socket socket =
                PemFiles.trusting(made.certificate()).getSocketFactory().createSocket("127.0.0.1", port)) {
            socket.getOutputStream()
                    .write(("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Test
    void new_files_are_used_without_a_restart() throws Exception {
        TestCertificate next = TestCertificate.make(directory, "second", "RSA");
        assertThat(name(service.port())).isEqualTo("CN=first");
        install(next);
        await("the second certificate", PATIENCE, () -> name(service).equals("CN=second"));
        assertThat(name(service.healthPort())).isEqualTo("CN=second");
    }

    @Test
    void bad_files_change_nothing() throws Exception {
        TestCertificate next = TestCertificate.make(directory, "second", "RSA");
        try (ServiceTls tls = ServiceTls.open(files)) {
            SslContextFactory.Server server = tls.server();
            KeyStore before = server.getKeyStore();
            Files.copy(next.key(), files.key(), StandardCopyOption.REPLACE_EXISTING); // without its certificate
            assertThat(tls.reloadIfChanged()).contains("is not the key of the certificate");
            install(made);
            assertThat(tls.reloadIfChanged()).isEmpty();
            Files.delete(files.certificate());
            assertThat(tls.reloadIfChanged()).endsWith("no such file");
            install(made);
            assertThat(tls.reloadIfChanged()).isEmpty();
            assertThat(server.getKeyStore()).isSameAs(before);
            install(next);
            assertThat(tls.reloadIfChanged()).isEmpty();
            assertThat(server.getKeyStore()).isNotSameAs(before);
        }
    }

    /**
     * Returns an empty text while the certificate is not trusted, because the file of the certificate authority
     * changes first.
     */
    private String name(WeirService of) {
        try {
            return name(of.port());
        } catch (IOException e) {
            return "";
        }
    }

    @Test
    void instances_trust_the_certificates_of_the_file() throws Exception {
        try (ServiceTls tls = ServiceTls.open(files);
                PeerInstances peers = new PeerInstances(Optional.of(TOKEN), Optional.of(tls))) {
            String answer =
                    peers.get(service.address(), "/v1/openapi.json", PATIENCE).get();
            assertThat(answer).contains("\"openapi\"");
        }
        Path other = TestCertificate.make(directory, "other", "EC").certificate();
        try (ServiceTls tls = ServiceTls.open(new Service.Tls(files.certificate(), files.key(), Optional.of(other)));
                PeerInstances peers = new PeerInstances(Optional.of(TOKEN), Optional.of(tls))) {
            assertThatThrownBy(() -> peers.get(service.address(), "/v1/openapi.json", PATIENCE)
                            .get())
                    .isInstanceOf(ExecutionException.class)
                    .hasRootCauseMessage("unable to find valid certification path to requested target");
        }
    }

    @Test
    void unfinished_handshakes_block_no_other_caller() throws Exception {
        List<Socket> silent = new ArrayList<>();
        try {
            for (int i = 0; i < 400; i++) {
                Socket socket = new Socket();
                silent.add(socket);
                socket.connect(new InetSocketAddress("127.0.0.1", service.port()), 5_000);
                socket.getOutputStream().write(new byte[] {0x16, 3, 1, 2, 0, 1}); // the start of a ClientHello
            }
            assertThat(get(service.url() + "/v1/openapi.json", made.certificate())
                            .statusCode())
                    .isEqualTo(200);
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
        }
    }

    @Test
    void invalid_files_are_rejected_at_the_start() {
        Path none = directory.resolve("none");
        for (Service.Tls missing : List.of(
                new Service.Tls(none, files.key(), files.ca()),
                new Service.Tls(files.certificate(), none, files.ca()),
                new Service.Tls(files.certificate(), files.key(), Optional.of(none)))) {
            assertThatThrownBy(() -> open(missing))
                    .isInstanceOf(BadSettingException.class)
                    .hasMessage("service.tls: " + none + ": no such file");
        }
        assertThatThrownBy(() -> open(new Service.Tls(directory, files.key(), files.ca())))
                .hasMessage("service.tls: " + directory + ": cannot be read");
    }
}
