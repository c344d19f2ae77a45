package dev.weir.config;

import static dev.weir.config.SettingChecks.require;
import static dev.weir.config.SettingChecks.requireBytes;
import static dev.weir.config.SettingChecks.requireRange;

import dev.weir.client.decision.XRateLimitFields;
import dev.weir.definition.YamlTree;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Limit;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.policy.RequestRules;
import dev.weir.wire.OutputFormat;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The configuration. It is immutable. The constructors throw IllegalArgumentException if a value is out of range; the
 * message starts with the full key of the setting, such as {@code topics.partitions}.
 *
 * @param applicationId the id of the deciding application, used for consumer group, state directory and transactional
 *     ids: 1 to 100 letters, digits and {@code . _ -}; must not end in {@value #SHAPING_SUFFIX}
 * @param threads the number of stream threads of the deciding application, 1 to {@value #MAX_THREADS}
 * @param topics the topics
 * @param state the stored state
 * @param requests the bounds of requests
 * @param shaping the shaping application
 * @param commits when threads commit
 * @param leases the timing of leases
 * @param takeover when instances take over from another one
 * @param service the HTTP service
 * @param registry the properties of the registry's client without the prefix {@code apicurio.registry.}; empty if
 *     there is no schema registry
 * @param kafka the properties of Kafka's clients and Kafka Streams
 */
public record WeirConfig(
        String applicationId,
        int threads,
        Topics topics,
        State state,
        Requests requests,
        Shaping shaping,
        Commits commits,
        Leases leases,
        Takeover takeover,
        Service service,
        Map<String, String> registry,
        Map<String, String> kafka) {

    public static final int MAX_THREADS = 64;
    public static final int MAX_HOT_KEYS = 10_000_000;

    /** A topic name can have 249 characters, 16 of which are for {@code lease-responses.}. */
    private static final int MAX_PREFIX_AND_ID = 233;

    /** The suffix that the id of the shaping application adds to that of the deciding one. */
    public static final String SHAPING_SUFFIX = "-shaping";

    private static final Pattern ID = Pattern.compile("(?!\\.{1,2}$)[A-Za-z0-9._-]{1,100}");

    static final Setting<String> APPLICATION_ID =
            Setting.of("application-id", id -> id, WeirConfig::requireApplicationId);
    static final Setting<Integer> THREADS = Setting.count("threads", 1, MAX_THREADS);

    private static final String DEFAULT = "default";
    private static final List<String> SECRET = List.of("password", "secret", "jaas", "token", "key", "credential");

    /** The default configuration. */
    public static final WeirConfig DEFAULTS = new WeirConfig(
            "weir",
            1,
            Topics.DEFAULTS,
            State.DEFAULTS,
            Requests.DEFAULTS,
            Shaping.DEFAULTS,
            Commits.DEFAULTS,
            Leases.DEFAULTS,
            Takeover.DEFAULTS,
            Service.DEFAULTS,
            Map.of(),
            Map.of());

    public WeirConfig {
        APPLICATION_ID.require(applicationId);
        require(
                topics.prefix().length() + applicationId.length() <= MAX_PREFIX_AND_ID,
                "topics.prefix and application-id must have at most " + MAX_PREFIX_AND_ID
                        + " characters together: both are in the names of internal topics");
        THREADS.require(threads);
        kafka = Collections.unmodifiableMap(new TreeMap<>(kafka));
        kafka.forEach((key, value) -> KafkaPropertyRules.violation(key, value).ifPresent(fault -> {
            throw new IllegalArgumentException("kafka." + key + " " + fault);
        }));
        registry = Collections.unmodifiableMap(new TreeMap<>(registry));
        registry.forEach(
                (key, value) -> RegistryPropertyRules.violation(key, value).ifPresent(fault -> {
                    throw new IllegalArgumentException("registry." + key + " " + fault);
                }));
        RegistryPropertyRules.conflict(registry).ifPresent(conflict -> {
            throw new IllegalArgumentException("registry." + conflict.key() + " " + conflict.fault());
        });
    }

    private static void requireApplicationId(String id) {
        require(ID.matcher(id).matches(), "application-id must be 1 to 100 letters, digits or . _ -, is '" + id + "'");
        require(
                !id.endsWith(SHAPING_SUFFIX),
                "application-id must not end in " + SHAPING_SUFFIX
                        + ", which is reserved for shaping applications, is '" + id + "'");
    }

    /** Returns a builder that starts with {@link #DEFAULTS}. */
    public static ConfigBuilder builder() {
        return DEFAULTS.toBuilder();
    }

    /** Returns a builder that starts with this configuration. */
    public ConfigBuilder toBuilder() {
        return new ConfigBuilder(this);
    }

    /**
     * The names of the topics and the settings with which missing topics are created.
     *
     * @param prefix the start of all topic names: up to 200 letters, digits and {@code . _ -}
     * @param partitions the number of partitions, 1 to {@value #MAX_PARTITIONS}; the topics of rules always have one
     * @param replyPartitions the number of partitions of the topic of replies, 1 to {@value #MAX_PARTITIONS}
     * @param replicationFactor 1 to {@value #MAX_REPLICATION_FACTOR}; empty for the cluster's default
     * @param outputFormat the format of decisions and releases
     */
    public record Topics(
            String prefix,
            int partitions,
            int replyPartitions,
            Optional<Integer> replicationFactor,
            OutputFormat outputFormat) {

        public static final int MAX_PARTITIONS = 10_000;
        public static final int MAX_REPLICATION_FACTOR = Short.MAX_VALUE;

        static final Setting<String> PREFIX = Setting.text(
                "topics.prefix", Pattern.compile("[A-Za-z0-9._-]{0,200}"), "at most 200 letters, digits or . _ -");
        static final Setting<Integer> PARTITIONS = Setting.count("topics.partitions", 1, MAX_PARTITIONS);
        static final Setting<Integer> REPLY_PARTITIONS = Setting.count("topics.reply-partitions", 1, MAX_PARTITIONS);
        static final Setting<Optional<Integer>> REPLICATION_FACTOR = Setting.of(
                "topics.replication-factor",
                Topics::replicationFactor,
                set -> set.ifPresent(
                        factor -> requireRange("topics.replication-factor", factor, 1, MAX_REPLICATION_FACTOR)));

        static final Setting<OutputFormat> OUTPUT_FORMAT =
                Setting.of("topics.output-format", Topics::outputFormat, any -> {});

        static final Topics DEFAULTS = new Topics("weir.", 4, 16, Optional.empty(), OutputFormat.AVRO);

        public Topics {
            PREFIX.require(prefix);
            PARTITIONS.require(partitions);
            REPLY_PARTITIONS.require(replyPartitions);
            REPLICATION_FACTOR.require(replicationFactor);
        }

        private static OutputFormat outputFormat(String text) {
            return switch (text) {
                case "avro" -> OutputFormat.AVRO;
                case "json" -> OutputFormat.JSON;
                default ->
                    throw new IllegalArgumentException("topics.output-format must be avro or json, is '" + text + "'");
            };
        }

        private static Optional<Integer> replicationFactor(String text) {
            if (text.equals(DEFAULT)) {
                return Optional.empty();
            }
            require(
                    text.matches("[0-9]{1,9}"),
                    "must be default or 1 to " + MAX_REPLICATION_FACTOR + ", is '" + text + "'");
            return Optional.of(Integer.valueOf(text));
        }
    }

    /**
     * The state of clients.
     *
     * @param directory the state directory
     * @param memoryBytes the memory for RocksDB's caches and write buffers, for all stores together, 1 MiB to 1 TiB
     * @param hotMemoryBytes the heap for the caches of client state, for all tasks together, up to 1 TiB; 0 to disable
     *     the caches. The default is an eighth of the maximum heap of this process
     * @param cleanupInterval the interval of scans for expired states, 10 ms to 1 day
     * @param cleanupKeys the number of states per scan, 1 to {@value #MAX_CLEANUP_KEYS}
     * @param retention how long expired states are kept, 1 ms to 3650 days
     * @param most the bounds of each partition
     */
    public record State(
            Path directory,
            long memoryBytes,
            long hotMemoryBytes,
            Duration cleanupInterval,
            int cleanupKeys,
            Duration retention,
            PartitionBounds most) {

        public static final int MAX_CLEANUP_KEYS = 10_000_000;

        static final Setting<Path> DIRECTORY = Setting.path("state.directory", "a directory");
        static final Setting<Long> MEMORY = Setting.bytes("state.memory", 1L << 20, 1L << 40);
        static final Setting<Long> HOT_MEMORY = Setting.of(
                "state.hot-memory", State::hotMemory, bytes -> requireBytes("state.hot-memory", bytes, 0, 1L << 40));
        static final Setting<Duration> CLEANUP_INTERVAL =
                Setting.duration("state.cleanup-interval", Duration.ofMillis(10), Duration.ofDays(1));
        static final Setting<Integer> CLEANUP_KEYS = Setting.count("state.cleanup-keys", 1, MAX_CLEANUP_KEYS);
        static final Setting<Duration> RETENTION =
                Setting.duration("state.retention", Duration.ofMillis(1), Duration.ofDays(3650));
        static final State DEFAULTS = new State(
                Path.of(System.getProperty("java.io.tmpdir"), "weir"),
                256L << 20,
                Runtime.getRuntime().maxMemory() / 8,
                Duration.ofSeconds(1),
                10_000,
                Duration.ofHours(1),
                new PartitionBounds(1_000_000, 1_000_000));

        public State {
            MEMORY.require(memoryBytes);
            HOT_MEMORY.require(hotMemoryBytes);
            CLEANUP_INTERVAL.require(cleanupInterval);
            CLEANUP_KEYS.require(cleanupKeys);
            RETENTION.require(retention);
        }

        /** Returns a copy with another directory. */
        State withDirectory(Path other) {
            return new State(other, memoryBytes, hotMemoryBytes, cleanupInterval, cleanupKeys, retention, most);
        }

        private static long hotMemory(String text) {
            return switch (text.strip()) {
                case DEFAULT -> DEFAULTS.hotMemoryBytes;
                case "0" -> 0;
                default -> DurationsAndSizes.sizeBytes(text);
            };
        }
    }

    /**
     * How much state each partition has at most.
     *
     * @param idempotencyKeys the maximum number of idempotency keys, 1 to {@value #MAX_IDEMPOTENCY_KEYS}
     * @param reservations the maximum number of reservations, 1 to {@value #MAX_RESERVATIONS}
     */
    public record PartitionBounds(int idempotencyKeys, int reservations) {

        public static final int MAX_IDEMPOTENCY_KEYS = 100_000_000;
        public static final int MAX_RESERVATIONS = 100_000_000;

        static final Setting<Integer> IDEMPOTENCY_KEYS =
                Setting.count("state.max-idempotency-keys", 1, MAX_IDEMPOTENCY_KEYS);
        static final Setting<Integer> RESERVATIONS = Setting.count("state.max-reservations", 1, MAX_RESERVATIONS);

        public PartitionBounds {
            IDEMPOTENCY_KEYS.require(idempotencyKeys);
            RESERVATIONS.require(reservations);
        }
    }

    /**
     * The bounds of requests. Requests that exceed them become dead letters.
     *
     * @param maxPayloadBytes the maximum size of the payload, 1 byte to 1 MiB
     * @param maxAttributes the maximum number of attributes, 0 to {@value #MAX_ATTRIBUTES}
     * @param maxAttributeLength the maximum length of an attribute's name or value, 1 to
     *     {@value #MAX_ATTRIBUTE_LENGTH} code points
     * @param maxCost the maximum absolute value of the cost, 1 to 2<sup>61</sup>
     * @param misplaced what to do with a record that is not in the partition of its client
     * @param maxAhead how far a timestamp that a producer sets can be ahead of Weir's clock, 1 ms to 3650 days
     */
    public record Requests(
            long maxPayloadBytes,
            int maxAttributes,
            int maxAttributeLength,
            long maxCost,
            MisplacedAction misplaced,
            Duration maxAhead) {

        public static final int MAX_ATTRIBUTES = 10_000;
        public static final int MAX_ATTRIBUTE_LENGTH = 1_000_000;
        public static final long MAX_COST = Limit.MAX_LEVEL;

        /** Returns a copy with another action for misplaced requests. */
        public Requests withMisplaced(MisplacedAction other) {
            return new Requests(maxPayloadBytes, maxAttributes, maxAttributeLength, maxCost, other, maxAhead);
        }

        static final Setting<Long> PAYLOAD = Setting.bytes("requests.max-payload", 1, 1L << 20);
        static final Setting<Integer> ATTRIBUTES = Setting.count("requests.max-attributes", 0, MAX_ATTRIBUTES);
        static final Setting<Integer> ATTRIBUTE_LENGTH =
                Setting.count("requests.max-attribute-length", 1, MAX_ATTRIBUTE_LENGTH);
        static final Setting<Long> COST = Setting.number("requests.max-cost", 1, MAX_COST);
        static final Setting<MisplacedAction> MISPLACED =
                Setting.of("requests.misplaced", MisplacedAction::of, any -> {});
        static final Setting<Duration> AHEAD =
                Setting.duration("requests.max-ahead", Duration.ofMillis(1), Duration.ofDays(3650));

        static final Requests DEFAULTS =
                new Requests(64L << 10, 64, 1024, 1_000_000_000_000L, MisplacedAction.ROUTE, Duration.ofHours(1));

        public Requests {
            PAYLOAD.require(maxPayloadBytes);
            ATTRIBUTES.require(maxAttributes);
            ATTRIBUTE_LENGTH.require(maxAttributeLength);
            COST.require(maxCost);
            AHEAD.require(maxAhead);
        }

        /** Returns the rules that check requests against these bounds. */
        public RequestRules rules() {
            return new RequestRules((int) maxPayloadBytes, maxAttributes, maxAttributeLength, maxCost);
        }
    }

    /** What to do with a record of the request topic that is not in the partition of its client. */
    public enum MisplacedAction {
        /** Forward the record to the partition of its client, where it is decided. */
        ROUTE("route"),
        /** Reject the record: it becomes a dead letter. */
        DEAD_LETTER("dead-letter");

        private final String text;

        MisplacedAction(String text) {
            this.text = text;
        }

        /** @throws IllegalArgumentException if the text is neither {@code route} nor {@code dead-letter} */
        static MisplacedAction of(String text) {
            return Stream.of(values())
                    .filter(value -> value.text.equals(text))
                    .findAny()
                    .orElseThrow(() -> new IllegalArgumentException("must be route or dead-letter, is '" + text + "'"));
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /**
     * The shaping application.
     *
     * @param threads the number of stream threads, 1 to {@value #MAX_THREADS}
     * @param hotKeys the maximum number of keys of keyed queues on the heap, per partition of
     *     {@code weir.admissions}, 1 to {@value #MAX_HOT_KEYS}
     */
    public record Shaping(int threads, int hotKeys) {

        static final Setting<Integer> THREADS = Setting.count("shaping.threads", 1, MAX_THREADS);
        static final Setting<Integer> HOT_KEYS = Setting.count("shaping.hot-keys", 1, MAX_HOT_KEYS);

        static final Shaping DEFAULTS = new Shaping(1, 50_000);

        public Shaping {
            THREADS.require(threads);
            HOT_KEYS.require(hotKeys);
        }
    }

    /**
     * When the threads of both applications commit. A commit makes decisions and releases visible to consumers that read
     * committed records. Between the bounds, the time depends on the load and on what commits cost.
     *
     * @param min the minimum time from the first uncommitted record, and from the previous commit, to a commit, 1 ms to
     *     {@code max}
     * @param max the maximum time from a commit to the next one under load, 1 ms to 2 s
     */
    public record Commits(Duration min, Duration max) {

        /** Below the shortest sensible transaction timeout. */
        private static final Duration MOST = Duration.ofSeconds(2);

        static final Setting<Duration> MIN = Setting.duration("commit.min", Duration.ofMillis(1), MOST);
        static final Setting<Duration> MAX = Setting.duration("commit.max", Duration.ofMillis(1), MOST);

        static final Commits DEFAULTS = new Commits(Duration.ofMillis(5), Duration.ofMillis(100));

        public Commits {
            MIN.require(min);
            MAX.require(max);
            require(
                    min.compareTo(max) <= 0,
                    "commit.min must be at most commit.max, "
                            + DurationsAndSizes.duration(max.toMillis()) + ", is "
                            + DurationsAndSizes.duration(min.toMillis()));
        }
    }

    /**
     * The timing of leases of shared limits.
     *
     * @param term the maximum term of a lease, 200 ms to 1 h; limits with short windows have shorter terms
     * @param lead how long before a lease is used up the next one is requested, 0 to 1 min, but at most a third of the
     *     term; it is extended if the measured round trip requires that
     */
    public record Leases(Duration term, Duration lead) {

        static final Setting<Duration> TERM =
                Setting.duration("leases.term", Duration.ofMillis(LeaseTerms.MIN_TERM_MS), Duration.ofHours(1));
        static final Setting<Duration> LEAD = Setting.duration("leases.lead", Duration.ZERO, Duration.ofMinutes(1));

        static final Leases DEFAULTS = new Leases(
                Duration.ofMillis(LeaseTerms.DEFAULTS.termMs()), Duration.ofMillis(LeaseTerms.DEFAULTS.leadMs()));

        public Leases {
            TERM.require(term);
            LEAD.require(lead);
        }

        /** Returns the terms for limits with long windows. */
        public LeaseTerms terms() {
            return LeaseTerms.of(term.toMillis(), lead.toMillis(), LeaseTerms.DEFAULTS.graceMs());
        }
    }

    /**
     * When instances take over from another one before its session ends.
     *
     * @param enabled whether they do
     * @param suspectAfter how long an instance neither answers nor commits before others take over from it, 1 s to
     *     1 min; they do so at once if its process has died
     */
    public record Takeover(boolean enabled, Duration suspectAfter) {

        static final Setting<Boolean> ENABLED = new Setting<>("takeover.enabled", YamlTree::flag, any -> {});
        static final Setting<Duration> SUSPECT_AFTER =
                Setting.duration("takeover.suspect-after", Duration.ofSeconds(1), Duration.ofMinutes(1));

        static final Takeover DEFAULTS = new Takeover(true, Duration.ofSeconds(2));

        public Takeover {
            SUSPECT_AFTER.require(suspectAfter);
        }
    }

    /**
     * The HTTP service.
     *
     * @param enabled whether the service is started
     * @param listener where the service listens
     * @param tokens which requests need a token
     * @param timeouts how long requests may take
     * @param tls the TLS files; empty to disable TLS
     * @param gateways {@code host:port} of the gateways that the live page shows, at most {@value #MAX_GATEWAYS}
     * @param xRateLimit whether responses that carry a decision's rate-limit fields have {@code X-RateLimit-…} too; also
     *     for gateways
     */
    public record Service(
            boolean enabled,
            Listener listener,
            Tokens tokens,
            Timeouts timeouts,
            Optional<Tls> tls,
            List<String> gateways,
            XRateLimitFields xRateLimit) {

        public static final String TOKEN_VARIABLE = "WEIR_TOKEN";
        public static final String READ_TOKEN_VARIABLE = "WEIR_READ_TOKEN";
        public static final String DECIDE_TOKEN_VARIABLE = "WEIR_DECIDE_TOKEN";
        public static final String DEFAULT_HOST = "127.0.0.1";
        public static final int DEFAULT_PORT = 8680;
        public static final int DEFAULT_HEALTH_PORT = 8679;
        public static final int MAX_PORT = 65_535;
        public static final int MAX_GATEWAYS = 64;

        /** The path at which a gateway reports its state, which the live page shows. */
        public static final String GATEWAY_STATUS_PATH = "/v1/gateway";

        static final Setting<Boolean> ENABLED = new Setting<>("service.enabled", YamlTree::flag, any -> {});
        static final Setting<String> GATEWAY = Setting.text("service.gateways", Listener.ADDRESS, "host:port");
        static final Setting<XRateLimitFields> X_RATE_LIMIT =
                Setting.of("service.x-rate-limit", Service::xRateLimit, any -> {});

        public static final Service DEFAULTS = new Service(
                true,
                new Listener(DEFAULT_HOST, DEFAULT_PORT, Optional.empty(), Optional.empty()),
                new Tokens(Optional.empty(), Optional.empty(), TokenRule.REQUIRED),
                new Timeouts(Duration.ofSeconds(10), Duration.ofSeconds(30)),
                Optional.empty(),
                List.of(),
                XRateLimitFields.NONE);

        public Service {
            gateways = List.copyOf(gateways);
            gateways.forEach(GATEWAY::require);
            requireRange("service.gateways", gateways.size(), 0, MAX_GATEWAYS);
        }

        /**
         * Where the service listens.
         *
         * @param host the address; on addresses other than loopback, all requests need a token
         * @param port the port, 0 to 65535; 0 for any free port
         * @param advertise {@code host:port} at which other instances reach this one; empty for the listening address
         * @param healthPort the port that serves health checks and metrics only, 0 to 65535; 0 for any free port; if
         *     empty, see {@link #effectiveHealthPort}
         */
        public record Listener(String host, int port, Optional<String> advertise, Optional<Integer> healthPort) {

            static final Pattern ADDRESS =
                    Pattern.compile("([A-Za-z0-9._-]{1,253}|\\[[0-9A-Fa-f:.%]{2,60}]):[1-9][0-9]{0,4}");

            static final Setting<String> HOST = Setting.text(
                    "service.host",
                    Pattern.compile("[A-Za-z0-9._-]{1,253}|\\[?[0-9A-Fa-f:.%]{2,60}]?"),
                    "a host name or an address");
            static final Setting<Integer> PORT = Setting.count("service.port", 0, MAX_PORT);
            static final Setting<String> ADVERTISE = Setting.text("service.advertise", ADDRESS, "host:port");
            static final Setting<Optional<Integer>> HEALTH_PORT =
                    Setting.count("service.health-port", 0, MAX_PORT).optional();

            public Listener {
                HOST.require(host);
                PORT.require(port);
                advertise.ifPresent(ADVERTISE::require);
                HEALTH_PORT.require(healthPort);
            }

            /**
             * Returns the configured health port. If none is set, returns {@value #DEFAULT_HEALTH_PORT}, or 0 (any free
             * port) if {@code port} is 0.
             */
            public int effectiveHealthPort() {
                return healthPort.orElse(port == 0 ? 0 : DEFAULT_HEALTH_PORT);
            }
        }

        /**
         * Which requests need a token.
         *
         * @param file the file with the token that changes need; empty to use the environment variable
         *     {@value #TOKEN_VARIABLE}
         * @param read whether reading needs a token; if empty, see {@link #requiresReadToken}
         * @param decide whether deciding needs a token
         */
        public record Tokens(Optional<Path> file, Optional<TokenRule> read, TokenRule decide) {

            static final Setting<Optional<Path>> FILE =
                    Setting.path("service.token-file", "a file").optional();
            static final Setting<Optional<TokenRule>> READ =
                    rule("service.read-token").optional();
            static final Setting<TokenRule> DECIDE = rule("service.decide-token");

            private static Setting<TokenRule> rule(String key) {
                return Setting.of(key, text -> TokenRule.of(key, text), any -> {});
            }
        }

        /** Whether requests need a token. */
        public enum TokenRule {
            /** All requests need a token. */
            REQUIRED,
            /** Requests through the loopback interface need no token. */
            LOOPBACK;

            /** @throws IllegalArgumentException if the text is neither {@code required} nor {@code loopback} */
            static TokenRule of(String key, String text) {
                return switch (text) {
                    case "required" -> REQUIRED;
                    case "loopback" -> LOOPBACK;
                    default ->
                        throw new IllegalArgumentException(key + " must be required or loopback, is '" + text + "'");
                };
            }
        }

        /**
         * How long requests may take.
         *
         * @param request the time in which a request must arrive, 1 s to 10 min; 1 s is added for each 64 KiB
         * @param backtest the timeout of backtests on recent requests, 1 s to 10 min
         */
        public record Timeouts(Duration request, Duration backtest) {

            private static final Duration MIN = Duration.ofSeconds(1);
            private static final Duration MAX = Duration.ofMinutes(10);
            static final Setting<Duration> REQUEST = Setting.duration("service.request-timeout", MIN, MAX);
            static final Setting<Duration> BACKTEST = Setting.duration("service.backtest-timeout", MIN, MAX);

            public Timeouts {
                REQUEST.require(request);
                BACKTEST.require(backtest);
            }
        }

        /**
         * The PEM files for TLS.
         *
         * @param certificate the certificate of the service, followed by the intermediate certificates
         * @param key the private key of the certificate, in PKCS #8
         * @param ca the certificate authority of the other instances; empty for those that Java trusts
         */
        public record Tls(Path certificate, Path key, Optional<Path> ca) {

            static final Setting<Path> CERTIFICATE = Setting.path("service.tls.certificate", "a file");
            static final Setting<Path> KEY = Setting.path("service.tls.key", "a file");
            static final Setting<Path> CA = Setting.path("service.tls.ca", "a file");
        }

        private static XRateLimitFields xRateLimit(String text) {
            return switch (text) {
                case "none" -> XRateLimitFields.NONE;
                case "delta-seconds" -> XRateLimitFields.DELTA_SECONDS;
                case "epoch-seconds" -> XRateLimitFields.EPOCH_SECONDS;
                case "openai" -> XRateLimitFields.OPENAI;
                default ->
                    throw new IllegalArgumentException(
                            "service.x-rate-limit must be none, delta-seconds, epoch-seconds or openai, is '" + text
                                    + "'");
            };
        }

        /**
         * Returns whether reading needs a token, as configured. If it is not configured, returns true if the host is
         * not {@value #DEFAULT_HOST} or an address is advertised, because then other machines may use the service.
         */
        public boolean requiresReadToken() {
            return tokens.read
                    .map(set -> set == TokenRule.REQUIRED)
                    .orElse(!listener.host.equals(DEFAULT_HOST) || listener.advertise.isPresent());
        }

        public Service withHost(String other) {
            return with(new Listener(other, listener.port, listener.advertise, listener.healthPort));
        }

        public Service withPort(int other) {
            return with(new Listener(listener.host, other, listener.advertise, listener.healthPort));
        }

        public Service withAdvertise(String other) {
            return with(new Listener(listener.host, listener.port, Optional.of(other), listener.healthPort));
        }

        public Service withHealthPort(int other) {
            return with(new Listener(listener.host, listener.port, listener.advertise, Optional.of(other)));
        }

        private Service with(Listener other) {
            return new Service(enabled, other, tokens, timeouts, tls, gateways, xRateLimit);
        }

        public Service withTokenFile(Path other) {
            return with(new Tokens(Optional.of(other), tokens.read, tokens.decide));
        }

        public Service withReadToken(TokenRule other) {
            return with(new Tokens(tokens.file, Optional.of(other), tokens.decide));
        }

        public Service withDecideToken(TokenRule other) {
            return with(new Tokens(tokens.file, tokens.read, other));
        }

        private Service with(Tokens other) {
            return new Service(enabled, listener, other, timeouts, tls, gateways, xRateLimit);
        }

        public Service withRequestTimeout(Duration other) {
            Timeouts changed = new Timeouts(other, timeouts.backtest);
            return new Service(enabled, listener, tokens, changed, tls, gateways, xRateLimit);
        }

        public Service withTls(Tls other) {
            return new Service(enabled, listener, tokens, timeouts, Optional.of(other), gateways, xRateLimit);
        }

        public Service withGateways(List<String> other) {
            return new Service(enabled, listener, tokens, timeouts, tls, other, xRateLimit);
        }

        public Service withXRateLimit(XRateLimitFields other) {
            return new Service(enabled, listener, tokens, timeouts, tls, gateways, other);
        }
    }

    /** Returns a copy with another value of a Kafka property. */
    public WeirConfig withKafka(String key, String value) {
        return toBuilder().kafka(key, value).build();
    }

    /** Returns a copy with another state directory. */
    public WeirConfig withStateDirectory(Path directory) {
        return toBuilder().stateDirectory(directory).build();
    }

    /** Returns all settings, without the values of properties that may be secrets. */
    @Override
    public String toString() {
        return "WeirConfig[applicationId=" + applicationId + ", threads=" + threads + ", topics=" + topics + ", state="
                + state + ", requests=" + requests + ", shaping=" + shaping + ", commits=" + commits + ", leases="
                + leases + ", takeover=" + takeover + ", service="
                + service + ", registry="
                + redacted(registry) + ", kafka=" + redacted(kafka) + "]";
    }

    private static Map<String, String> redacted(Map<String, String> properties) {
        Map<String, String> shown = new TreeMap<>(properties);
        shown.replaceAll((key, value) -> isSecret(key) ? "<hidden>" : value);
        return shown;
    }

    private static boolean isSecret(String key) {
        String lower = key.toLowerCase(Locale.ROOT);
        return SECRET.stream().anyMatch(lower::contains);
    }
}
