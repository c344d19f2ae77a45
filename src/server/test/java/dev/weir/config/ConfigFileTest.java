package dev.weir.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.decision.XRateLimitFields;
import dev.weir.config.WeirConfig.Commits;
import dev.weir.config.WeirConfig.MisplacedAction;
import dev.weir.config.WeirConfig.PartitionBounds;
import dev.weir.config.WeirConfig.Requests;
import dev.weir.config.WeirConfig.Service;
import dev.weir.config.WeirConfig.Shaping;
import dev.weir.config.WeirConfig.State;
import dev.weir.config.WeirConfig.Topics;
import dev.weir.fault.Fault;
import dev.weir.fault.FaultsException;
import dev.weir.policy.RequestRules;
import dev.weir.wire.OutputFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigFileTest {

    private static final Duration HOUR = Duration.ofHours(1);

    /** All keys except the state directory, with their defaults. */
    private static final String DEFAULTS = """
            application-id: weir                # consumer group, state directory and transactional ids
            threads: 1                          # stream threads
            topics: {prefix: weir., partitions: 4, replication-factor: default}
            state: {memory: 256MiB, hot-memory: default, cleanup-interval: 1s, cleanup-keys: 10000, retention: 1h, max-idempotency-keys: 1000000, max-reservations: 1000000}
            requests: {max-payload: 64KiB, max-attributes: 64, max-attribute-length: 1024, max-cost: 1000000000000, misplaced: route, max-ahead: 1h}
            shaping: {threads: 1, hot-keys: 50000}
            commit: {min: 5ms, max: 100ms}
            leases: {term: 5s, lead: 300ms}
            takeover: {enabled: true, suspect-after: 2s}
            kafka: {}
            """;

    private static final String ALL_OTHER = """
            application-id: weir-eu.1_a
            threads: 8
            topics:
              prefix: ""
              partitions: 32
              reply-partitions: 8
              replication-factor: 3
              output-format: json
            state:
              directory: /var/lib/weir
              memory: 2 GiB
              hot-memory: 1000000
              cleanup-interval: 100ms
              cleanup-keys: 50_000
              retention: 2d
              max-idempotency-keys: 1
              max-reservations: 100_000_000
            requests:
              max-payload: 1500
              max-attributes: 0
              max-attribute-length: 1
              max-cost: 2305843009213693952
              misplaced: dead-letter
              max-ahead: 3650d
            shaping:
              threads: 64
              hot-keys: 1_000
            commit:
              min: 20ms
              max: 2s
            leases:
              term: 20s
              lead: 50ms
            takeover:
              enabled: false
              suspect-after: 5s
            service:
              enabled: false
              host: 0.0.0.0
              port: 0
              advertise: weir-1.example:8680
              token-file: /run/secrets/weir
              health-port: 9000
              read-token: loopback
              decide-token: loopback
              request-timeout: 20s
              backtest-timeout: 90s
              tls:
                certificate: /etc/weir/tls.crt
                key: /etc/weir/tls.key
                ca: /etc/weir/ca.crt
              gateways: [gateway-1:8690, "[::1]:8690"]
              x-rate-limit: epoch-seconds
            registry:
              url: https://registry.example/apis/registry/v3
              auto-register: false
              artifact.group-id: quota
              auth.username: weir
              auth.password: ${env:WEIR_PASSWORD}
            kafka:
              bootstrap.servers: a:9092,b:9092
              linger.ms: 5
              enable.idempotence: true
              sasl.jaas.config: 'X username="u" password="${env:WEIR_PASSWORD}${env:EMPTY}";'
            """;

    private static final Map<String, String> ENVIRONMENT = Map.of("WEIR_PASSWORD", "pa$1\\${env:NO}", "EMPTY", "");

    @TempDir
    private Path directory;

    @Test
    void an_empty_file_sets_nothing() throws FaultsException {
        for (String text :
                List.of("", "# nothing\n", "{}", "topics:\nstate:\nrequests:\nshaping:\nregistry:\nkafka:\n")) {
            assertThat(ConfigFile.read("weir.yaml", text)).isEqualTo(WeirConfig.DEFAULTS);
        }
    }

    @Test
    void the_environment_has_a_default_for_the_state_directory() throws FaultsException {
        Map<String, String> environment = Map.of("WEIR_STATE_DIRECTORY", "/var/lib/weir");
        WeirConfig expected = WeirConfig.DEFAULTS.withStateDirectory(Path.of("/var/lib/weir"));
        assertThat(ConfigFile.defaults(environment)).isEqualTo(expected);
        for (String text : List.of("", "state: {memory: 256MiB}")) {
            assertThat(ConfigFile.read("weir.yaml", text, environment)).isEqualTo(expected);
        }
        assertThat(ConfigFile.read("weir.yaml", "state: {directory: /mnt}", environment))
                .isEqualTo(WeirConfig.DEFAULTS.withStateDirectory(Path.of("/mnt")));
        for (Map<String, String> nothing : List.of(Map.<String, String>of(), Map.of("WEIR_STATE_DIRECTORY", " "))) {
            assertThat(ConfigFile.defaults(nothing)).isEqualTo(WeirConfig.DEFAULTS);
        }
    }

    @Test
    void the_defaults_are_what_is_documented() throws FaultsException {
        assertThat(ConfigFile.read("weir.yaml", DEFAULTS)).isEqualTo(WeirConfig.DEFAULTS);
        assertThat(WeirConfig.DEFAULTS)
                .isEqualTo(WeirConfig.builder()
                        .applicationId("weir")
                        .threads(1)
                        .topics(new Topics("weir.", 4, 16, Optional.empty(), OutputFormat.AVRO))
                        .state(new State(
                                Path.of(System.getProperty("java.io.tmpdir"), "weir"),
                                268_435_456,
                                Runtime.getRuntime().maxMemory() / 8,
                                Duration.ofSeconds(1),
                                10_000,
                                Duration.ofHours(1),
                                new PartitionBounds(1_000_000, 1_000_000)))
                        .requests(new Requests(65_536, 64, 1024, 1_000_000_000_000L, MisplacedAction.ROUTE, HOUR))
                        .shaping(new Shaping(1, 50_000))
                        .commits(new Commits(Duration.ofMillis(5), Duration.ofMillis(100)))
                        .service(new Service(
                                true,
                                new Service.Listener("127.0.0.1", 8680, Optional.empty(), Optional.empty()),
                                new Service.Tokens(Optional.empty(), Optional.empty(), Service.TokenRule.REQUIRED),
                                new Service.Timeouts(Duration.ofSeconds(10), Duration.ofSeconds(30)),
                                Optional.empty(),
                                List.of(),
                                XRateLimitFields.NONE))
                        .kafka(Map.of())
                        .build());
        assertThat(WeirConfig.DEFAULTS.requests().rules())
                .isEqualTo(new RequestRules(65_536, 64, 1024, 1_000_000_000_000L));
    }

    @Test
    void every_key_can_be_set() throws FaultsException {
        assertThat(ConfigFile.read("weir.yaml", ALL_OTHER, ENVIRONMENT))
                .isEqualTo(WeirConfig.builder()
                        .applicationId("weir-eu.1_a")
                        .threads(8)
                        .topics(new Topics("", 32, 8, Optional.of(3), OutputFormat.JSON))
                        .state(new State(
                                Path.of("/var/lib/weir"),
                                2L << 30,
                                1_000_000,
                                Duration.ofMillis(100),
                                50_000,
                                Duration.ofDays(2),
                                new PartitionBounds(1, 100_000_000)))
                        .requests(
                                new Requests(1500, 0, 1, 1L << 61, MisplacedAction.DEAD_LETTER, Duration.ofDays(3650)))
                        .shaping(new Shaping(64, 1_000))
                        .commits(new Commits(Duration.ofMillis(20), Duration.ofSeconds(2)))
                        .leases(new WeirConfig.Leases(Duration.ofSeconds(20), Duration.ofMillis(50)))
                        .takeover(new WeirConfig.Takeover(false, Duration.ofSeconds(5)))
                        .service(new Service(
                                false,
                                new Service.Listener(
                                        "0.0.0.0", 0, Optional.of("weir-1.example:8680"), Optional.of(9000)),
                                new Service.Tokens(
                                        Optional.of(Path.of("/run/secrets/weir")),
                                        Optional.of(Service.TokenRule.LOOPBACK),
                                        Service.TokenRule.LOOPBACK),
                                new Service.Timeouts(Duration.ofSeconds(20), Duration.ofSeconds(90)),
                                Optional.of(new Service.Tls(
                                        Path.of("/etc/weir/tls.crt"),
                                        Path.of("/etc/weir/tls.key"),
                                        Optional.of(Path.of("/etc/weir/ca.crt")))),
                                List.of("gateway-1:8690", "[::1]:8690"),
                                XRateLimitFields.EPOCH_SECONDS))
                        .registry(Map.of(
                                "url",
                                "https://registry.example/apis/registry/v3",
                                "auto-register",
                                "false",
                                "artifact.group-id",
                                "quota",
                                "auth.username",
                                "weir",
                                "auth.password",
                                "pa$1\\${env:NO}"))
                        .kafka(Map.of(
                                "bootstrap.servers",
                                "a:9092,b:9092",
                                "linger.ms",
                                "5",
                                "enable.idempotence",
                                "true",
                                "sasl.jaas.config",
                                "X username=\"u\" password=\"pa$1\\${env:NO}\";"))
                        .build());
    }

    @Test
    void the_hot_state_memory_can_be_zero() throws FaultsException {
        assertThat(ConfigFile.read("weir.yaml", "state: {hot-memory: 0}\n")
                        .state()
                        .hotMemoryBytes())
                .isZero();
    }

    @Test
    void one_key_leaves_the_others_as_they_are() throws FaultsException {
        WeirConfig config = ConfigFile.read("weir.yaml", "state: {cleanup-keys: 5}\n");

        assertThat(config.state().cleanupKeys()).isEqualTo(5);
        assertThat(config.state().retention()).isEqualTo(Duration.ofHours(1));
        assertThat(config.topics()).isEqualTo(WeirConfig.DEFAULTS.topics());
    }

    @Test
    void a_short_maximum_between_commits_lowers_the_default_minimum() throws FaultsException {
        assertThat(ConfigFile.read("weir.yaml", "commit: {max: 2ms}\n").commits())
                .isEqualTo(new Commits(Duration.ofMillis(2), Duration.ofMillis(2)));
        assertThat(ConfigFile.read("weir.yaml", "commit: {max: 500ms}\n").commits())
                .isEqualTo(new Commits(Duration.ofMillis(5), Duration.ofMillis(500)));
    }

    @Test
    void the_environment_is_that_of_the_process_unless_another_is_given() throws FaultsException {
        Map.Entry<String, String> variable = System.getenv().entrySet().stream()
                .filter(entry -> entry.getKey().matches("[A-Z]+"))
                .findFirst()
                .orElseThrow();

        assertThat(ConfigFile.read("weir.yaml", "kafka: {client.id: 'a${env:" + variable.getKey() + "}b'}")
                        .kafka())
                .containsExactly(Map.entry("client.id", "a" + variable.getValue() + "b"));
    }

    @Test
    void the_fields_x_rate_limit_have_a_format() throws FaultsException {
        assertThat(ConfigFile.read("weir.yaml", "service: {x-rate-limit: openai}")
                        .service()
                        .xRateLimit())
                .isEqualTo(XRateLimitFields.OPENAI);
    }

    /** One file is then enough for all pods of a StatefulSet. */
    @Test
    void the_advertised_address_can_contain_environment_variables() throws FaultsException {
        assertThat(ConfigFile.read(
                                "weir.yaml",
                                "service: {advertise: '${env:POD_NAME}.weir:8680'}",
                                Map.of("POD_NAME", "weir-0"))
                        .service()
                        .listener()
                        .advertise())
                .contains("weir-0.weir:8680");
    }

    static Stream<Arguments> faults() {
        return Stream.of(
                Arguments.of(
                        "service: {advertise: '${env:NONE}:8680'}",
                        "service.advertise: needs the environment variable NONE, which is not set"),
                Arguments.of(
                        "service: {advertise: '${env:NONE'}", "service.advertise: must be host:port, is '${env:NONE'"),
                Arguments.of("5", "must be a mapping, is '5'"),
                Arguments.of("a: [", "is not valid YAML: a value or a closing bracket is missing (column 5)"),
                Arguments.of("thread: 1", "thread: unknown key; did you mean \"threads\"?"),
                Arguments.of("topics.prefix: a", "topics.prefix: unknown key"),
                Arguments.of("topics: {partition: 1}", "topics.partition: unknown key; did you mean \"partitions\"?"),
                Arguments.of("threads: 1\nthreads: 2", "threads: duplicate key; the first is on line 1"),
                Arguments.of("topics: weir.", "topics: must be a mapping, is 'weir.'"),
                Arguments.of("kafka: [a]", "kafka: must be a mapping, is a list"),
                Arguments.of(
                        "application-id: a b", "application-id: must be 1 to 100 letters, digits or . _ -, is 'a b'"),
                Arguments.of(
                        "application-id: ..", "application-id: must be 1 to 100 letters, digits or . _ -, is '..'"),
                Arguments.of("application-id: [a]", "application-id: must be a single value, is a list"),
                Arguments.of(
                        "service: {x-rate-limit: seconds}",
                        "service.x-rate-limit: must be none, delta-seconds, epoch-seconds or openai, is 'seconds'"),
                Arguments.of("threads: 0", "threads: must be a whole number from 1 to 64, is '0'"),
                Arguments.of("threads: 65", "threads: must be a whole number from 1 to 64, is '65'"),
                Arguments.of("threads:", "threads: must be a whole number from 1 to 64, is empty"),
                Arguments.of(
                        "topics: {prefix: a/}", "topics.prefix: must be at most 200 letters, digits or . _ -, is 'a/'"),
                Arguments.of(
                        "topics: {partitions: 10001}",
                        "topics.partitions: must be a whole number from 1 to 10000, is '10001'"),
                Arguments.of(
                        "topics: {replication-factor: few}",
                        "topics.replication-factor: must be default or 1 to 32767, is 'few'"),
                Arguments.of("topics: {replication-factor: 0}", "topics.replication-factor: must be 1 to 32767, is 0"),
                Arguments.of("state: {directory: ' '}", "state.directory: must be a directory, is ' '"),
                Arguments.of("state: {directory: \"a\\0\"}", "state.directory: Nul character not allowed: a\\u0000"),
                Arguments.of(
                        "state: {memory: much}", "state.memory: must be a size such as 1500, 64KiB or 10MB, is 'much'"),
                Arguments.of(
                        "state: {memory: 1MB}", "state.memory: must be 1048576 to 1099511627776 bytes, is 1000000"),
                Arguments.of(
                        "state: {hot-memory: none}",
                        "state.hot-memory: must be a size such as 1500, 64KiB or 10MB, is 'none'"),
                Arguments.of(
                        "state: {hot-memory: 2000GiB}",
                        "state.hot-memory: must be 0 to 1099511627776 bytes, is 2147483648000"),
                Arguments.of(
                        "state: {cleanup-interval: often}",
                        "state.cleanup-interval: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is 'often'"),
                Arguments.of("state: {cleanup-interval: 9ms}", "state.cleanup-interval: must be 10ms to 1d, is 9ms"),
                Arguments.of("state: {cleanup-interval: 25h}", "state.cleanup-interval: must be 10ms to 1d, is 25h"),
                Arguments.of(
                        "state: {cleanup-keys: 0}",
                        "state.cleanup-keys: must be a whole number from 1 to 10000000, is '0'"),
                Arguments.of(
                        "state: {max-idempotency-keys: 100000001}",
                        "state.max-idempotency-keys: must be a whole number from 1 to 100000000, is '100000001'"),
                Arguments.of("state: {retention: 3651d}", "state.retention: must be 1ms to 3650d, is 3651d"),
                Arguments.of(
                        "requests: {max-payload: 2MiB}",
                        "requests.max-payload: must be 1 to 1048576 bytes, is 2097152"),
                Arguments.of(
                        "requests: {max-attributes: -1}",
                        "requests.max-attributes: must be a whole number from 0 to 10000, is '-1'"),
                Arguments.of(
                        "requests: {max-attribute-length: 0}",
                        "requests.max-attribute-length: must be a whole number from 1 to 1000000, is '0'"),
                Arguments.of("requests: {max-cost: 0}", "requests.max-cost: must be a whole number, 1 or more, is '0'"),
                Arguments.of("kafka: {linger.ms: [5]}", "kafka.linger.ms: must be a single value, is a list"),
                Arguments.of("kafka: {linger.ms: }", "kafka.linger.ms: must be a single value, is empty"),
                Arguments.of("registry: [a]", "registry: must be a mapping, is a list"),
                Arguments.of("registry: {auto-register: true}", "registry.url: is required"),
                Arguments.of("registry: {urll: a}", "registry.urll: unknown key; did you mean \"url\"?"),
                Arguments.of("registry: {url: 'http://a:1', use-id: globalId}", "registry.use-id: unknown key"),
                Arguments.of(
                        "registry: {url: 'http://u:p@a:1'}",
                        "registry.url: must be a URL as http://host:port/path, without a user name"),
                Arguments.of(
                        "registry: {url: 'http://a:1/apis/registry/v2'}",
                        "registry.url: must be the URL of Apicurio's API, http://host:port/apis/registry/v3; for"
                                + " Confluent's API, set registry.api: confluent"),
                Arguments.of(
                        "registry: {url: 'http://a:1/apis/ccompat/v7'}",
                        "registry.url: must be the URL of Apicurio's API, http://host:port/apis/registry/v3; for"
                                + " Confluent's API, set registry.api: confluent"),
                Arguments.of(
                        "registry: {url: 'http://a:1', api: confluence}",
                        "registry.api: must be apicurio or confluent, is 'confluence'"),
                Arguments.of(
                        "registry: {url: 'http://a:1', api: confluent, artifact.group-id: g}",
                        "registry.artifact.group-id: is not supported with registry.api: confluent; the supported"
                                + " properties are api, auth.password, auth.username, auto-register, url"),
                Arguments.of(
                        "registry: {url: 'http://a:1', auto-register: no}",
                        "registry.auto-register: must be true or false, is 'no'"),
                Arguments.of(
                        "registry: {url: 'http://a:1', auth.password: 'hush${env:NONE}'}",
                        "registry.auth.password: needs the environment variable NONE, which is not set"),
                Arguments.of(
                        "kafka: {application.id: a}",
                        "kafka.application.id: must not be set: use application-id instead"),
                Arguments.of(
                        "kafka: {num.stream.threads: 5}",
                        "kafka.num.stream.threads: must not be set: use threads instead"),
                Arguments.of(
                        "kafka:\n  linger.ms: 1\n  consumer.isolation.level: read_uncommitted",
                        "kafka.consumer.isolation.level: must be read_committed"),
                Arguments.of(
                        "application-id: a-shaping",
                        "application-id: must not end in -shaping, which is reserved for shaping applications, is"
                                + " 'a-shaping'"),
                Arguments.of(
                        "kafka: {commit.interval.ms: 100}",
                        "kafka.commit.interval.ms: must not be set: use commit.max instead"),
                Arguments.of(
                        "commit: {min: 0ms}",
                        "commit.min: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is '0ms'"),
                Arguments.of("commit: {max: 3s}", "commit.max: must be 1ms to 2s, is 3s"),
                Arguments.of("commit: {min: 200ms}", "commit.min: must be at most commit.max, 100ms, is 200ms"),
                Arguments.of("kafka: {state.dir: /a}", "kafka.state.dir: must not be set: use state.directory instead"),
                Arguments.of(
                        "kafka: {ssl.key.password: 'hush${env:NONE}'}",
                        "kafka.ssl.key.password: needs the environment variable NONE, which is not set"),
                Arguments.of("kafka: {a: '${env:}'}", "kafka.a: needs the environment variable , which is not set"),
                Arguments.of(
                        "kafka: {"
                                + IntStream.range(0, 1001)
                                        .mapToObj(i -> "p" + i + ": 1")
                                        .collect(Collectors.joining(", "))
                                + "}",
                        "kafka: must have at most 1000 properties, has 1001"));
    }

    @ParameterizedTest
    @MethodSource("faults")
    void reports_every_fault(String text, String message) {
        int line = 1 + (int) text.chars().filter(c -> c == '\n').count();

        assertThat(faults(text)).containsExactly("weir.yaml:" + line + ": " + message);
    }

    @Test
    void reports_all_faults_in_the_order_of_the_lines() {
        assertThat(faults("""
                                kafka: {a: ~, b: '${env:NONE}'}
                                state:
                                  retention: never
                                  cleanup-interval: 1ms
                                  memory: 1
                                topics: {prefix: '*'}
                                """))
                .containsExactly(
                        "weir.yaml:1: kafka.a: must be a single value, is empty",
                        "weir.yaml:1: kafka.b: needs the environment variable NONE, which is not set",
                        "weir.yaml:3: state.retention: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is 'never'",
                        "weir.yaml:4: state.cleanup-interval: must be 10ms to 1d, is 1ms",
                        "weir.yaml:5: state.memory: must be 1048576 to 1099511627776 bytes, is 1",
                        "weir.yaml:6: topics.prefix: must be at most 200 letters, digits or . _ -, is '*'");
    }

    @Test
    void reads_a_file() throws IOException, FaultsException {
        Path file = directory.resolve("weir.yaml");
        Files.writeString(file, "threads: 2");
        assertThat(ConfigFile.read(file).threads()).isEqualTo(2);

        Files.writeString(file, "threads: many");
        assertThatThrownBy(() -> ConfigFile.read(file))
                .isInstanceOf(FaultsException.class)
                .hasMessage(file + ":1: threads: must be a whole number from 1 to 64, is 'many'");

        Files.delete(file);
        assertThatThrownBy(() -> ConfigFile.read(file)).isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void a_password_for_the_registry_is_not_shown() {
        assertThat(WeirConfig.DEFAULTS.toBuilder()
                        .registry(Map.of("url", "http://a:1", "auth.password", "hush"))
                        .build())
                .hasToString(WeirConfig.DEFAULTS
                        .toString()
                        .replace("registry={}", "registry={auth.password=<hidden>, url=http://a:1}"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ssl.key.password",
                "ssl.keystore.location",
                "sasl.jaas.config",
                "SASL.JAAS.CONFIG",
                "a.Token.b",
                "client.secret",
                "sasl.login.credentials"
            })
    void secrets_are_not_printed(String key) {
        WeirConfig config = WeirConfig.DEFAULTS.withKafka(key, "hush").withKafka("bootstrap.servers", "a:9092");

        assertThat(config.kafka()).containsEntry(key, "hush");
        assertThat(config.toString())
                .doesNotContain("hush")
                .contains("applicationId=weir", key + "=<hidden>", "bootstrap.servers=a:9092");
    }

    @Test
    void the_records_validate_their_arguments() {
        State state = WeirConfig.DEFAULTS.state();

        assertRefused("threads must be 1 to 64, is 65", () -> WeirConfig.builder()
                .applicationId("weir")
                .threads(65)
                .topics(Topics.DEFAULTS)
                .state(State.DEFAULTS)
                .requests(Requests.DEFAULTS)
                .shaping(Shaping.DEFAULTS)
                .service(Service.DEFAULTS)
                .kafka(Map.of())
                .build());
        assertRefused(
                "topics.prefix and application-id must have at most 233 characters together: both are in the names of internal topics",
                () -> WeirConfig.builder()
                        .applicationId("a".repeat(100))
                        .threads(1)
                        .topics(new Topics("p".repeat(134), 1, 1, Optional.empty(), OutputFormat.AVRO))
                        .state(State.DEFAULTS)
                        .requests(Requests.DEFAULTS)
                        .shaping(Shaping.DEFAULTS)
                        .service(Service.DEFAULTS)
                        .kafka(Map.of())
                        .build());
        assertRefused(
                "topics.partitions must be 1 to 10000, is 0",
                () -> new Topics("", 0, 1, Optional.empty(), OutputFormat.AVRO));
        assertRefused(
                "topics.reply-partitions must be 1 to 10000, is 10001",
                () -> new Topics("", 1, 10_001, Optional.empty(), OutputFormat.AVRO));
        assertRefused(
                "topics.replication-factor must be 1 to 32767, is 32768",
                () -> new Topics("", 1, 1, Optional.of(32_768), OutputFormat.AVRO));
        assertRefused(
                "state.cleanup-keys must be 1 to 10000000, is 0",
                () -> new State(
                        state.directory(), 1L << 30, 0, state.cleanupInterval(), 0, state.retention(), state.most()));
        assertRefused(
                "state.hot-memory must be 0 to 1099511627776 bytes, is -1",
                () -> new State(
                        state.directory(), 1L << 30, -1, state.cleanupInterval(), 1, state.retention(), state.most()));
        assertRefused(
                "state.retention must be 1ms to 3650d, is 0s",
                () -> new State(
                        state.directory(), 1L << 30, 0, state.cleanupInterval(), 1, Duration.ZERO, state.most()));
        assertRefused("state.max-idempotency-keys must be 1 to 100000000, is 0", () -> new PartitionBounds(0, 1));
        assertRefused("state.max-reservations must be 1 to 100000000, is 0", () -> new PartitionBounds(1, 0));
        assertRefused(
                "requests.max-attributes must be 0 to 10000, is -1",
                () -> new Requests(1, -1, 1, 1, MisplacedAction.ROUTE, HOUR));
        assertRefused(
                "requests.max-attribute-length must be 1 to 1000000, is 0",
                () -> new Requests(1, 1, 0, 1, MisplacedAction.ROUTE, HOUR));
        assertRefused(
                "requests.max-cost must be 1 to 2305843009213693952, is 0",
                () -> new Requests(1, 1, 1, 0, MisplacedAction.ROUTE, HOUR));
        assertRefused(
                "kafka.state.dir must not be set: use state.directory instead",
                () -> WeirConfig.DEFAULTS.withKafka("state.dir", "a"));
    }

    @Test
    void a_configuration_is_immutable() {
        Map<String, String> kafka = new HashMap<>(Map.of("a", "1"));
        WeirConfig config = WeirConfig.builder()
                .applicationId("weir")
                .threads(1)
                .topics(Topics.DEFAULTS)
                .state(State.DEFAULTS)
                .requests(Requests.DEFAULTS)
                .shaping(Shaping.DEFAULTS)
                .service(Service.DEFAULTS)
                .kafka(kafka)
                .build();
        kafka.put("b", "2");

        WeirConfig other = config.withKafka("a", "3").withStateDirectory(Path.of("there"));

        assertThat(config.kafka()).containsExactly(Map.entry("a", "1"));
        assertThat(config.state()).isEqualTo(State.DEFAULTS);
        assertThat(other.kafka()).containsExactly(Map.entry("a", "3"));
        assertThat(other.state().directory()).isEqualTo(Path.of("there"));
        assertThat(other.state().memoryBytes()).isEqualTo(State.DEFAULTS.memoryBytes());
    }

    @Test
    void arbitrary_text_is_read_or_rejected() {
        Random random = new Random(7);
        String odd = "{}[]:,-&*!|>'\"#$ \t\n\u0000_09azMKiB.";
        int read = 0;
        for (int i = 0; i < 5_000; i++) {
            StringBuilder text = new StringBuilder(random.nextBoolean() ? DEFAULTS : ALL_OTHER);
            for (int edits = 1 + random.nextInt(3); edits > 0; edits--) {
                int at = random.nextInt(text.length());
                int end = Math.min(text.length(), at + random.nextInt(8));
                text.replace(at, end, String.valueOf(odd.charAt(random.nextInt(odd.length()))));
            }
            List<String> faults = faults(text.toString());
            assertThat(faults).allMatch(line -> line.matches("weir\\.yaml:[1-9][0-9]*: \\P{Cntrl}+"));
            read += faults.isEmpty() ? 1 : 0;
        }
        assertThat(read).isBetween(100, 4_900);
    }

    private static void assertRefused(String message, Runnable making) {
        assertThatThrownBy(making::run)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    private static List<String> faults(String text) {
        try {
            ConfigFile.read("weir.yaml", text, ENVIRONMENT);
            return List.of();
        } catch (FaultsException e) {
            return e.faults().stream().map(Fault::toString).toList();
        }
    }
}
