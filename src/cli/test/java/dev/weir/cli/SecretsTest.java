package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Errors in a configuration at the place of a secret must not print the secret. */
class SecretsTest {

    private static final String LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule";

    @TempDir
    Path directory;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "kafka: {ssl.truststore.password: [s3cret]}",
                "kafka: {sasl.jaas.config: {password: s3cret}}",
                "kafka:\n  sasl.jaas.config: x password=\"s3cret\"; : y",
                "kafka:\n  sasl.jaas.config: \"x password=\"s3cret\";\"",
                "kafka: {ssl.key.password: 's3cret",
                "kafka: {ssl.key.password: !!binary s3cret}",
                "kafka: {ssl.key.password: *s3cret}",
                "service: {token: s3cret}",
                "kafka: {security.protocol: SASL_SSL, sasl.jaas.config: s3cret}",
                "kafka: {security.protocol: SASL_SSL, sasl.jaas.config: '" + LOGIN + " s3cret required;'}",
                "kafka: {security.protocol: SASL_SSL, sasl.jaas.config: '" + LOGIN + " required password=my s3cret;'}",
                "kafka: {security.protocol: SSL, ssl.keystore.key: s3cret, ssl.keystore.type: PEM}",
                "kafka: {security.protocol: SSL, ssl.truststore.password: s3cret, ssl.truststore.location: /no/such}"
            })
    void errors_do_not_contain_the_secret(String yaml) throws IOException {
        Path file = Files.writeString(directory.resolve("weir.yaml"), yaml);
        CapturedRun result = Shell.run("policies", "list", "-c", file.toString());
        assertThat(result.exit()).isPositive();
        assertThat(result.err()).isNotEmpty().doesNotContain("s3cret");
    }
}
