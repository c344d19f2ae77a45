package dev.weir.page;

import dev.weir.api.Caller;
import dev.weir.api.WeirService;
import dev.weir.client.RequestBuilder;
import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.Service.TokenRule;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Request;
import dev.weir.gateway.Gateway;
import dev.weir.gateway.GatewayConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.topics.TopicSetup;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** A broker, an enforcer and its service, under varying traffic until it is closed. */
final class LiveRun implements AutoCloseable {

    static final String TOKEN = "a-token-of-some-length";

    /** The client with the most denials. */
    static final String GREEDY = "acme";

    /** A client to whose requests a shared policy applies that does not apply to requests without attributes. */
    static final String MAIL_CLIENT = "news";

    private static final String POLICIES = """
            policies:
              - id: free-articles
                match: {tier: free, endpoint: "/articles/**"}
                limits:
                  - {algorithm: sliding-window-counter, limit: 600, per: 1m}
                  - {algorithm: token-bucket, limit: 5, per: 1s, burst: 20}
              - id: partners
                priority: 10
                match: {client: [initech, "globex-*"]}
                limits: [{algorithm: gcra, limit: 200, per: 1s}]
              - id: search
                match: {endpoint: /search}
                limits: [{algorithm: fixed-window, limit: 30, per: 10s}]
              - id: whole-site
                layer: site
                key: []
                limits: [{algorithm: token-bucket, limit: 100000, per: 1m}]
              - id: each-region
                layer: regions
                key: [region]
                match: {endpoint: /regional}
                limits: [{algorithm: gcra, limit: 100, per: 1s}]
              - id: mail-provider
                layer: providers
                key: []
                match: {endpoint: /mail}
                limits: [{algorithm: gcra, limit: 1000, per: 1s}]
              - id: all-sms
                match: {endpoint: /sms}
                queue: sms
              - id: all-mail
                match: {endpoint: /mail}
                queue: mail
              - id: all-hooks
                match: {endpoint: /hook}
                queue: hooks
            queues:
              - {id: hooks, key: [client], limit: 1, per: 20s, capacity: 50}
              - {id: sms, limit: 16, per: 1s, capacity: 1000, max-wait: 40s, tiers: {gold: {priority: 1}, silver: {weight: 4}}}
              - {id: mail, limit: 10, per: 1s, burst: 5, capacity: 500}
            """;

    /** The address of a gateway that does not run. */
    static final String NO_GATEWAY = "127.0.0.1:1";

    /** A backtest may take longer than usual on a slow machine. */
    private static final String SERVICE = "service: {port: 0, backtest-timeout: 10m}";

    private static final int EVERY_MS = 50;
    private static final double TURN_MS = 20_000;
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    /** Saves half of a processor, which the browser needs. */
    private static final Duration RARE_COMMITS = Duration.ofMillis(250);

    private final EmbeddedBroker broker = EmbeddedBroker.start();
    private final WeirConfig config;
    private final Gateway gateway;
    private final WeirService service;
    private final Enforcer enforcer;
    private final RequestSender sender;
    private final ScheduledExecutorService traffic = Executors.newSingleThreadScheduledExecutor();
    private final Random random = new Random(7);
    private final String another;
    private final long startedAtMs = System.currentTimeMillis();
    private long sent;

    /**
     * @param directory the state directory
     * @param another another client that is denied
     */
    LiveRun(Path directory, String another) throws Exception {
        this.another = another;
        config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers()).toBuilder()
                .service(ConfigFile.read("weir.yaml", SERVICE, Map.of()).service())
                .commits(new WeirConfig.Commits(RARE_COMMITS, RARE_COMMITS))
                .build()
                .withStateDirectory(directory);
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config)
                .apply(PolicyFile.read("live", POLICIES), PolicyTopic.Options.DEFAULTS, System.currentTimeMillis());
        gateway = Gateway.open(
                config, GatewayConfig.DEFAULTS.withHttpPort(0), Map.of(WeirConfig.Service.TOKEN_VARIABLE, TOKEN));
        service = open(config.service().withGateways(List.of(gatewayAddress(), NO_GATEWAY)));
        enforcer = Enforcer.create(config, Optional.of(service.address()));
        enforcer.begin();
        enforcer.awaitRunning(PATIENCE);
        show(service);
        sender = new RequestSender(config);
        var unused = traffic.scheduleAtFixedRate(this::send, 0, EVERY_MS, TimeUnit.MILLISECONDS);
    }

    /** Returns the URL of the live page. */
    String url() {
        return url(service);
    }

    static String url(WeirService service) {
        return "http://127.0.0.1:" + service.port() + "/live";
    }

    /** Returns the address of the gateway, as the configuration names it. */
    String gatewayAddress() {
        return "127.0.0.1:" + gatewayPort();
    }

    int gatewayPort() {
        return gateway.httpPort();
    }

    Caller caller(String token) throws Exception {
        return Caller.of(service.port(), token);
    }

    /** Sends a record that is not a request. */
    void sendInvalid(String value) {
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(KafkaSettings.producer(config), new StringSerializer(), new StringSerializer())) {
            var unused = producer.send(new ProducerRecord<>(Topics.of(config).requests(), "a key", value));
        }
    }

    /** Opens another service of the same enforcer. */
    WeirService openAnother(String host, int port) {
        WeirConfig.Service settings = WeirConfig.Service.DEFAULTS
                .withHost(host)
                .withPort(port)
                .withHealthPort(0)
                .withAdvertise("127.0.0.1:1");
        boolean isLoopback = InetAddress.getLoopbackAddress().getHostAddress().equals(host);
        WeirService other = open(isLoopback ? settings.withReadToken(TokenRule.LOOPBACK) : settings);
        show(other);
        return other;
    }

    private WeirService open(WeirConfig.Service settings) {
        return WeirService.open(
                config.toBuilder().service(settings).build(), Map.of(WeirConfig.Service.TOKEN_VARIABLE, TOKEN));
    }

    private void show(WeirService shown) {
        shown.setHealth(enforcer::health);
        shown.setMetrics(enforcer.metrics()::scrape);
        shown.startLiveFeed(enforcer.live(), enforcer::others);
        shown.attachEnforcer(enforcer.policies(), enforcer.queries());
    }

    private void send() {
        double wave = Math.sin((System.currentTimeMillis() - startedAtMs) / TURN_MS);
        some(4 + 3 * wave, () -> "reader-" + random.nextInt(40), "free", "/articles/7");
        some(1.2 + wave, () -> GREEDY, "free", "/articles/" + random.nextInt(9));
        some(0.7, () -> another, "free", "/articles/1");
        some(2, () -> random.nextBoolean() ? "initech" : "globex-eu", "partner", "/articles/2");
        some(0.6, () -> "crawler-" + random.nextInt(3), "free", "/search");
        some(0.2, () -> "shop", "gold", "/sms");
        some(0.6 + 0.4 * wave, () -> "bank", "silver", "/sms");
        some(0.7 + 0.7 * wave, () -> "forum-" + random.nextInt(5), null, "/sms");
        some(0.3, () -> MAIL_CLIENT, null, "/mail");
        some(0.1, () -> random.nextInt(3) > 0 ? another : "shop-" + random.nextInt(20), null, "/hook");
    }

    /** Sends {@code many} requests on average. */
    private void some(double many, Supplier<String> client, String tier, String endpoint) {
        int whole = (int) Math.floor(Math.max(0, many) + random.nextDouble());
        for (int i = 0; i < whole; i++) {
            sender.send(request(client.get(), tier, endpoint));
        }
    }

    private Request request(String client, String tier, String endpoint) {
        RequestBuilder request =
                RequestBuilder.of(client).requestId("r" + sent++).attribute("endpoint", endpoint);
        return (tier == null ? request : request.tier(tier)).build();
    }

    @Override
    public void close() {
        traffic.shutdownNow();
        sender.close();
        service.close();
        gateway.close();
        enforcer.close();
        broker.close();
    }
}
