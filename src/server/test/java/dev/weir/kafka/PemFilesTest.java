package dev.weir.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.testing.TestCertificate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("slow")
class PemFilesTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"EC", "RSA", "Ed25519"})
    void a_key_and_its_certificate_are_read(String algorithm) throws Exception {
        TestCertificate made = TestCertificate.make(directory, "a", algorithm);
        List<X509Certificate> chain = certificates(made.certificate());
        PrivateKey key = PemFiles.key(made.key(), PemFiles.read(made.key()), chain.get(0));
        assertThat(PemFiles.keyStore(key, chain).size()).isEqualTo(1);
        assertThat(PemFiles.trusting(made.certificate()).getProtocol()).isEqualTo("TLS");
    }

    @Test
    void all_certificates_of_a_file_are_read_in_order() throws Exception {
        TestCertificate first = TestCertificate.make(directory, "a", "EC");
        TestCertificate second = TestCertificate.make(directory, "b", "EC");
        Path both = Files.writeString(
                directory.resolve("both"),
                Files.readString(first.certificate()) + "\r\n" + Files.readString(second.certificate()));
        assertThat(certificates(both))
                .extracting(one -> one.getSubjectX500Principal().getName())
                .containsExactly("CN=a", "CN=b");
    }

    @Test
    void the_key_must_be_that_of_the_certificate() throws Exception {
        X509Certificate certificate = certificates(
                        TestCertificate.make(directory, "a", "EC").certificate())
                .get(0);
        for (String algorithm : List.of("EC", "RSA")) {
            Path other = TestCertificate.make(directory, "of-" + algorithm, algorithm)
                    .key();
            assertThatThrownBy(() -> PemFiles.key(other, PemFiles.read(other), certificate))
                    .hasMessageStartingWith(other + ": is not the key of the certificate");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-----BEGIN RSA PRIVATE KEY-----|: has the format RSA PRIVATE KEY, not PRIVATE KEY (PKCS #8 without a password): convert it with `openssl pkcs8 -topk8 -nocrypt -in ",
                "-----BEGIN ENCRYPTED PRIVATE KEY-----|: has the format ENCRYPTED PRIVATE KEY, not",
                "something else|: has no private key in PEM (BEGIN PRIVATE KEY)",
                "-----BEGIN PRIVATE KEY-----AAAA-----END PRIVATE KEY-----|: is not the key of the certificate, or is damaged"
            })
    void an_invalid_key_is_reported_with_the_fix(String content, String message) throws Exception {
        TestCertificate made = TestCertificate.make(directory, "a", "EC");
        Path file = Files.writeString(directory.resolve("key"), content);
        assertThatThrownBy(() -> PemFiles.key(
                        file,
                        PemFiles.read(file),
                        certificates(made.certificate()).get(0)))
                .hasMessageStartingWith(file + message);
    }

    @Test
    void a_file_without_a_complete_certificate_is_rejected() throws Exception {
        Path empty = Files.writeString(directory.resolve("empty"), "");
        assertThatThrownBy(() -> certificates(empty)).hasMessage(empty + ": has no certificate");
        Path broken = Files.writeString(directory.resolve("broken"), "-----BEGIN CERTIFICATE-----\nAAAA\n");
        assertThatThrownBy(() -> certificates(broken)).hasMessageStartingWith(broken + ": has no certificate");
        Path missing = directory.resolve("missing");
        assertThatThrownBy(() -> PemFiles.read(missing)).hasMessage(missing + ": no such file");
        Path large = Files.write(directory.resolve("large"), new byte[1_000_001]);
        assertThatThrownBy(() -> PemFiles.read(large)).hasMessage(large + ": is too large for a PEM file");
    }

    private static List<X509Certificate> certificates(Path file) throws Exception {
        return PemFiles.certificates(file, PemFiles.read(file));
    }
}
