package dev.weir.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.ConfigBuilder;
import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two instances of the service beside a running enforcer: definitions on a real broker, and fixed results of queries. The
 * caller validates each response against the description of the service.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class ServiceFixture {

    static final Duration PATIENCE = Duration.ofMinutes(1);
    static final String LIMITS = "\"limits\":[{\"algorithm\":\"gcra\",\"limit\":%d,\"per\":\"1m\"}]";
    static final String ANY = "If-Match: *";
    static final String JSON = "Content-Type: application/json";
    static final String YAML = "Content-Type: application/yaml";
    private static final String TOKEN = "a-token-of-some-length";

    /** The answers of {@link #service}. */
    final FixedAnswers here = new FixedAnswers();

    /** The answers of {@link #other}. */
    final FixedAnswers there = new FixedAnswers();

    Enforcer enforcer;
    WeirService service;
    WeirService other;

    /** Calls {@link #service} with the token. */
    Caller trusted;

    /** Calls {@link #service} without a token. */
    Caller caller;

    @BeforeAll
    void start(@TempDir Path directory) throws Exception {
        WeirConfig config = config().build().withStateDirectory(directory).toBuilder()
                .service(WeirConfig.DEFAULTS.service().withPort(0))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        service = WeirService.open(config, Map.of(WeirConfig.Service.TOKEN_VARIABLE, TOKEN));
        other = WeirService.open(config, Map.of(WeirConfig.Service.TOKEN_VARIABLE, TOKEN));
        trusted = Caller.of(service.port(), TOKEN);
        caller = trusted.withToken(null);
        Reply early = caller.get("/v1/policies");
        assertThat(early.status()).isEqualTo(503);
        assertThat(early.detail()).isEqualTo("the enforcer is starting");

        enforcer = Enforcer.start(config);
        enforcer.awaitRunning(PATIENCE);
        service.attachEnforcer(enforcer.policies(), here);
        other.attachEnforcer(enforcer.policies(), there);
    }

    /** Returns the configuration of the enforcer, without a directory and a service. */
    final ConfigBuilder config() {
        String name = getClass().getSimpleName().toLowerCase(Locale.ROOT);
        return WeirConfig.builder().named(name).topics(name + ".", 2).kafka(TestBroker.clientSettings());
    }

    @AfterAll
    void stop() {
        service.close();
        other.close();
        enforcer.close();
    }

    @BeforeEach
    void forgetAnswers() {
        for (FixedAnswers answers : List.of(here, there)) {
            answers.usage = new Result.NotReady<>("the state is being restored");
            answers.check = request -> new Result.NotReady<>("the state is being restored");
            answers.queue = new Result.NotReady<>("the state is being restored");
            answers.request.set(null);
        }
    }

    static String body(int limit) {
        return "{" + LIMITS.formatted(limit) + "}";
    }
}
