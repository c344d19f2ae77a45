package dev.weir.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.CircuitSettings;
import dev.weir.client.ClientBuilder;
import dev.weir.client.ClientStats;
import dev.weir.client.Fallback;
import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.event.Request;
import dev.weir.spring.http.WeirReactiveAutoConfiguration;
import dev.weir.spring.http.WeirReactiveFilter;
import dev.weir.spring.http.WeirServletAutoConfiguration;
import dev.weir.spring.http.WeirServletFilter;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.kafka.KafkaConnectionDetails;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ReactiveWebApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.server.WebFilter;

class WeirAutoConfigurationTest {

    private static final AutoConfigurations ALL = AutoConfigurations.of(
            WeirAutoConfiguration.class,
            WeirMethodAutoConfiguration.class,
            WeirServletAutoConfiguration.class,
            WeirReactiveAutoConfiguration.class,
            WeirHealthAutoConfiguration.class,
            WeirMetricsAutoConfiguration.class);

    private final ApplicationContextRunner runner = new ApplicationContextRunner().withConfiguration(ALL);
    private final StubDecider decider = new StubDecider();

    private WebApplicationContextRunner servlet() {
        return new WebApplicationContextRunner()
                .withConfiguration(ALL)
                .withBean(WeirClient.class, () -> null)
                .withBean(WeirDecider.class, () -> decider);
    }

    private ReactiveWebApplicationContextRunner reactive() {
        return new ReactiveWebApplicationContextRunner()
                .withConfiguration(ALL)
                .withBean(WeirClient.class, () -> null)
                .withBean(WeirDecider.class, () -> decider);
    }

    @Test
    void without_brokers_the_context_fails_with_the_property_to_set() {
        runner.run(context -> assertThat(context)
                .getFailure()
                .rootCause()
                .hasMessageContaining("weir.bootstrap-servers")
                .hasMessageContaining("spring.kafka.bootstrap-servers"));
    }

    @Test
    void it_can_be_disabled() {
        runner.withPropertyValues("weir.enabled=false").run(context -> assertThat(context)
                .hasNotFailed()
                .doesNotHaveBean(WeirClient.class)
                .doesNotHaveBean(WeirDecider.class)
                .doesNotHaveBean(HealthIndicator.class));
    }

    @Test
    void a_test_can_disable_the_client_and_declare_a_decider() {
        new WebApplicationContextRunner()
                .withConfiguration(ALL)
                .withBean(WeirDecider.class, () -> decider)
                .withPropertyValues("weir.enabled=false", "weir.filter.enabled=true")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean(WeirClient.class)
                        .hasBean("weirServletFilter")
                        .hasSingleBean(RateLimitedInterceptor.class));
    }

    @Test
    void brokers_and_security_of_spring_kafka_are_the_defaults() {
        assertThat(kafka(
                        null,
                        Map.of(
                                "spring.kafka.bootstrap-servers", "a:1,b:2",
                                "spring.kafka.security.protocol", "SASL_SSL",
                                "spring.kafka.properties.sasl.mechanism", "PLAIN")))
                .containsOnly(
                        Map.entry("bootstrap.servers", "a:1,b:2"),
                        Map.entry("security.protocol", "SASL_SSL"),
                        Map.entry("sasl.mechanism", "PLAIN"));
    }

    @Test
    void own_properties_override_those_of_spring_kafka() {
        assertThat(kafka(
                        null,
                        Map.of(
                                "spring.kafka.bootstrap-servers", "a:1",
                                "spring.kafka.security.protocol", "SASL_SSL",
                                "weir.bootstrap-servers", "c:3,d:4",
                                "weir.kafka.security.protocol", "SSL",
                                "weir.kafka.producer.linger.ms", "5")))
                .containsOnly(
                        Map.entry("bootstrap.servers", "c:3,d:4"),
                        Map.entry("security.protocol", "SSL"),
                        Map.entry("producer.linger.ms", "5"));
    }

    @Test
    void connection_details_override_the_property_of_spring_kafka() {
        KafkaConnectionDetails container = () -> List.of("container:9");
        assertThat(kafka(container, Map.of("spring.kafka.bootstrap-servers", "a:1")))
                .containsEntry("bootstrap.servers", "container:9");
    }

    private static Map<String, Object> kafka(KafkaConnectionDetails connection, Map<String, String> properties) {
        Binder binder = new Binder(new MapConfigurationPropertySource(properties));
        return WeirAutoConfiguration.kafka(binder.bindOrCreate("weir", WeirProperties.class), binder, connection);
    }

    @Test
    void the_defaults_are_those_of_the_client() {
        WeirProperties properties =
                new Binder(new MapConfigurationPropertySource()).bindOrCreate("weir", WeirProperties.class);
        assertThat(properties.prefix()).isEqualTo("weir.");
        assertThat(properties.applicationId()).isEqualTo("weir");
        assertThat(properties.timeout()).hasSeconds(1);
        assertThat(properties.fallback()).isEqualTo(Fallback.FAIL);
        assertThat(properties.fallbackOnOverload()).isFalse();
        assertThat(properties.maxInFlight()).isEqualTo(10_000);
        assertThat(properties.circuit())
                .isEqualTo(new WeirProperties.CircuitProperties(true, 100, 50, Duration.ofSeconds(5), 5));
        assertThat(properties.maxBlockedThreads()).isNull();
        assertThat(properties.filter().enabled()).isFalse();
        assertThat(properties.filter().client()).containsExactly("principal", "remote-address");
        assertThat(properties.filter().attributes()).containsOnlyKeys("endpoint", "method");
    }

    @Test
    void beans_of_the_application_replace_the_client_and_the_decider() {
        servlet().run(context -> assertThat(context)
                .hasNotFailed()
                .getBean(WeirDecider.class)
                .isSameAs(decider));
    }

    @Test
    void the_servlet_filter_is_configured_only_if_it_is_enabled() {
        servlet().run(context -> assertThat(context).doesNotHaveBean(FilterRegistrationBean.class));
        servlet()
                .withPropertyValues("weir.filter.enabled=true", "weir.filter.order=7")
                .run(context -> assertThat(context.getBean("weirServletFilter", FilterRegistrationBean.class))
                        .satisfies(bean -> assertThat(bean.getFilter()).isInstanceOf(WeirServletFilter.class))
                        .satisfies(bean -> assertThat(bean.getOrder()).isEqualTo(7)));
    }

    @Test
    void throttled_calls_block_at_most_a_quarter_of_the_threads_of_the_server() {
        assertBlocks(50);
        assertBlocks(5, "server.tomcat.threads.max=20");
        assertBlocks(1, "server.tomcat.threads.max=2");
        assertBlocks(7, "weir.max-blocked-threads=7");
        servlet()
                .withPropertyValues("weir.max-blocked-threads=-1")
                .run(context ->
                        assertThat(context).getFailure().rootCause().hasMessageContaining("weir.max-blocked-threads"));
    }

    private void assertBlocks(int threads, String... properties) {
        servlet().withPropertyValues(properties).run(context -> assertThat(
                        context.getBean(ThrottleSleeper.class).maxThreads())
                .isEqualTo(threads));
    }

    @Test
    void the_web_flux_filter_is_configured_only_if_it_is_enabled() {
        reactive().run(context -> assertThat(context).doesNotHaveBean(WebFilter.class));
        reactive()
                .withPropertyValues("weir.filter.enabled=true", "weir.filter.order=7")
                .run(context -> assertThat(
                                context.getBean(WeirReactiveFilter.class).getOrder())
                        .isEqualTo(7));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "weir.filter.client=heder:X-Api-Key | weir.filter.client",
                "weir.filter.client=header: | weir.filter.client",
                "weir.filter.tier=path:/x | weir.filter.tier",
                "weir.filter.attributes.tenant=x | weir.filter.attributes.tenant",
                "weir.filter.paths=/a/**/b{ | weir.filter.paths",
                "weir.filter.paths=api/** | must begin with /",
                "weir.filter.exclude-paths=health | must begin with /",
                "weir.filter.on-no-decision=maybe | weir.filter.on-no-decision",
                "weir.filter.ipv6-prefix=0 | weir.filter.ipv6-prefix",
                "weir.filter.ipv6-prefix=129 | weir.filter.ipv6-prefix",
            })
    void an_invalid_property_of_the_filter_fails_with_its_name(String property, String name) {
        servlet()
                .withPropertyValues("weir.filter.enabled=true", property)
                .run(context -> assertThat(context).getFailure().rootCause().satisfies(failure -> assertThat(
                                causes(context.getStartupFailure()))
                        .contains(name)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "weir.bootstrap-servers=localhost | weir.bootstrap-servers",
                "weir.kafka.security.protocol=TSL | weir.kafka",
                "weir.method.client=#{ | weir.method.client",
            })
    void another_invalid_property_fails_with_its_name(String property, String name) {
        runner.withPropertyValues("weir.bootstrap-servers=localhost:1", property)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .isInstanceOfSatisfying(
                                InvalidConfigurationPropertyValueException.class,
                                failure -> assertThat(failure.getName()).isEqualTo(name)));
    }

    private static String causes(Throwable failure) {
        StringBuilder all = new StringBuilder();
        for (Throwable each = failure; each != null; each = each.getCause()) {
            all.append(each).append('\n');
        }
        return all.toString();
    }

    private static ClientStats stats(CircuitSettings.State circuit, CircuitSettings.State leaseCircuit, int inFlight) {
        return new ClientStats(
                0,
                new ClientStats.Decided(
                        0, 0, 0, 0, new ClientStats.Latency(Duration.ZERO, Duration.ZERO, Duration.ZERO)),
                Map.of(),
                0,
                new ClientStats.Fallbacks(0, 0, 0),
                new ClientStats.Now(inFlight, 0, 0, circuit, leaseCircuit),
                new ClientStats.Reservations(0, 0, 0));
    }

    @ParameterizedTest
    @CsvSource({
        "true, CLOSED, CLOSED, UP",
        "true, HALF_OPEN, CLOSED, UP",
        "true, OPEN, CLOSED, DOWN",
        "true, CLOSED, OPEN, DOWN",
        "false, CLOSED, CLOSED, DOWN"
    })
    void health_follows_the_client_and_its_circuits(
            boolean ready, CircuitSettings.State circuit, CircuitSettings.State leaseCircuit, String status) {
        ClientStats stats = stats(circuit, leaseCircuit, 3);
        assertThat(new WeirHealthIndicator(() -> ready, () -> stats, Optional::empty).health())
                .isEqualTo(Health.status(status)
                        .withDetail("ready", ready)
                        .withDetail("circuit", circuit)
                        .withDetail("leaseCircuit", leaseCircuit)
                        .withDetail("inFlight", 3)
                        .build());
    }

    @Test
    void health_has_the_failure_of_the_client() {
        WeirHealthIndicator health = new WeirHealthIndicator(
                () -> false,
                () -> stats(CircuitSettings.State.CLOSED, CircuitSettings.State.CLOSED, 0),
                () -> Optional.of(new IllegalStateException("no broker has answered for 9 s")));
        assertThat(health.health().getDetails()).containsEntry("failure", "no broker has answered for 9 s");
    }

    @Test
    void the_client_starts_without_brokers_and_can_be_customized() {
        List<ClientBuilder> customized = new ArrayList<>();
        runner.withPropertyValues("weir.bootstrap-servers=localhost:1", "weir.timeout=1ms", "weir.fallback=fail-open")
                .withBean(WeirClientCustomizer.class, () -> customized::add)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    assertThat(customized).hasSize(1);
                    assertThat(context.getBean(WeirClient.class).isReady()).isFalse();
                    assertThat(context.getBean(WeirHealthIndicator.class)
                                    .health()
                                    .getStatus())
                            .isEqualTo(Status.DOWN);
                    Request request = RequestBuilder.of("alice").build();
                    assertThat(context.getBean(WeirDecider.class)
                                    .decide(request, Fallback.FAIL_OPEN)
                                    .join()
                                    .allowed())
                            .isTrue();
                });
    }

    @Test
    void health_and_metrics_are_configured_if_their_libraries_are_present() {
        servlet()
                .run(context ->
                        assertThat(context).hasBean("weirHealthIndicator").hasSingleBean(MeterBinder.class));
        servlet()
                .withClassLoader(new FilteredClassLoader(HealthIndicator.class, MeterBinder.class))
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean("weirHealthIndicator")
                        .doesNotHaveBean("weirClientMetrics"));
        servlet().withPropertyValues("management.health.weir.enabled=false").run(context -> assertThat(context)
                .doesNotHaveBean("weirHealthIndicator"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"org.springframework.web", "reactor", "jakarta.servlet"})
    void it_works_without_the_optional_libraries(String library) {
        runner.withBean(WeirClient.class, () -> null)
                .withBean(WeirDecider.class, () -> decider)
                .withClassLoader(new FilteredClassLoader(library))
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(OncePerRequestFilter.class));
    }
}
