package dev.weir.gateway.envoy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.Fallback;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.fault.FaultsException;
import dev.weir.gateway.envoy.mapping.CallBounds;
import dev.weir.gateway.envoy.mapping.DescriptorMapping;
import dev.weir.gateway.envoy.message.ResponseContents;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EnvoySectionTest {

    @Test
    void an_empty_section_is_the_defaults() throws Exception {
        assertThat(SectionText.read("")).isEqualTo(EnvoyConfig.DEFAULTS);
        assertThat(SectionText.read("{}")).isEqualTo(EnvoyConfig.DEFAULTS);
    }

    @Test
    void all_keys_are_read() throws Exception {
        EnvoyConfig config = SectionText.read("""
                client: [x-org, remote_address]
                tier: plan
                request-id: x-request-id
                attributes: {endpoint: path}
                keys-attribute: keys
                charge: always
                quota: true
                timeout: 50ms
                on-timeout: error
                merge: true
                rules: [{match: {domain: edge}, client: user, on-timeout: deny}]
                headers: false
                metadata: false
                over-limit-body: slow down
                max-descriptors: 5
                max-entries: 6
                max-message: 64KiB
                max-calls: 7
                max-connections: 8
                max-connections-per-address: 4
                max-calls-per-connection: 3
                max-resets: 2
                threads: 9
                tls: {certificate: a.crt, key: a.key, client-ca: ca.crt}
                """);
        DescriptorMapping mapping = config.mapping().otherwise();
        assertThat(mapping.keys().client()).containsExactly("x-org", "remote_address");
        assertThat(mapping.keys().tier()).containsExactly("plan");
        assertThat(mapping.keys().requestId()).containsExactly("x-request-id");
        assertThat(mapping.keys().attributes()).containsOnlyKeys("endpoint").containsValue("path");
        assertThat(mapping.keys().keysAttribute()).contains("keys");
        assertThat(mapping.settles()).isTrue();
        assertThat(mapping.isQuota()).isTrue();
        assertThat(mapping.timeout()).isEqualTo(Duration.ofMillis(50));
        assertThat(mapping.fallback()).isEqualTo(Fallback.FAIL);
        assertThat(config.mapping().isMerged()).isTrue();
        DescriptorMapping ruled = config.mapping().rules().get(0).mapping();
        assertThat(ruled.keys().client()).containsExactly("user");
        assertThat(ruled.fallback()).isEqualTo(Fallback.FAIL_CLOSED);
        assertThat(ruled.timeout()).isEqualTo(Duration.ofMillis(50));
        assertThat(config.contents()).isEqualTo(new ResponseContents(false, XRateLimitFields.NONE, false, "slow down"));
        assertThat(config.bounds()).isEqualTo(new CallBounds(5, 6, 65_536, 7));
        assertThat(config.connections()).isEqualTo(new ConnectionBounds(8, 4, 3, 2));
        assertThat(config.threads()).isEqualTo(9);
        assertThat(config.tls())
                .contains(new EnvoyTls(Path.of("a.crt"), Path.of("a.key"), Optional.of(Path.of("ca.crt"))));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {cliont: a}                        | gateway.yaml:1: cliont: unknown key; did you mean "client"?
            {timeout: 0ms}                     | gateway.yaml:1: timeout: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '0ms'
            {timeout: 11s}                     | gateway.yaml:1: timeout: must be 1ms to 10s, is 11s
            {on-timeout: open}                 | gateway.yaml:1: on-timeout: must be one of allow, deny, error, is 'open'
            {charge: never}                    | gateway.yaml:1: charge: must be one of always, if-allowed, is 'never'
            {merge: 'yes'}                     | gateway.yaml:1: merge: must be true or false without quotes, is 'yes'
            {max-message: 1B}                  | gateway.yaml:1: max-message: must be 1KiB to 16MiB, is '1B'
            {tls: {key: a}}                    | gateway.yaml:1: tls.certificate: is required
            {max-descriptors: 0}               | gateway.yaml:1: max-descriptors: must be a whole number from 1 to 1000, is '0'
            {rules: [{client: a}]}             | gateway.yaml:1: rules[0].match: is required
            {rules: [{match: {a: []}}]}        | gateway.yaml:1: rules[0].match.a: must have a pattern
            {rules: [{match: {a: b}, x: 1}]}   | gateway.yaml:1: rules[0].x: unknown key
            {rules: [{match: {a: 'b\\'}}]}     | gateway.yaml:1: rules[0].match.a: a pattern must not end in a backslash: b\\
            """)
    void a_fault_names_the_key(String yaml, String message) {
        assertThatThrownBy(() -> SectionText.read(yaml))
                .isInstanceOf(FaultsException.class)
                .hasMessage(message);
    }
}
