package dev.weir.spring;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Request;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.springframework.aop.Advisor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.NameMatchMethodPointcut;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Tests the annotation in an application without Kafka. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RateLimitedTest {

    private ConfigurableApplicationContext context;
    private StubDecider decider;
    private Gateway gateway;

    private static final AtomicInteger SENT = new AtomicInteger();
    private static final AtomicInteger INTERCEPTED = new AtomicInteger();

    record Message(String tenant, String plan, int parts) {}

    static final class Receipt extends CompletableFuture<String> {
        Receipt() {
            complete("done");
        }
    }

    interface Billing {
        @RateLimited("bill")
        void bill();
    }

    static class Gateway {
        @RateLimited(
                value = "send-sms",
                client = "#message.tenant",
                tier = "#message.plan",
                cost = "#message.parts",
                attributes = {"country=@countries.get(#message.tenant)", "none=null"})
        public String send(Message message) {
            SENT.incrementAndGet();
            return "sent";
        }

        @RateLimited
        public void plain() {}

        @RateLimited(client = "#client")
        public CompletableFuture<String> future(String client) {
            return CompletableFuture.completedFuture("done");
        }

        @RateLimited(client = "#client")
        public CompletionStage<String> stage(String client) {
            return CompletableFuture.completedStage("done");
        }

        @RateLimited(client = "#client")
        public Future<String> task(String client) {
            FutureTask<String> task = new FutureTask<>(() -> "done");
            task.run();
            return task;
        }

        @RateLimited(client = "#client")
        public Receipt receipt(String client) {
            return new Receipt();
        }

        @RateLimited(client = "#client")
        public Mono<String> mono(String client) {
            return Mono.just("done");
        }

        @RateLimited(client = "#client")
        public Flux<String> flux(String client) {
            return Flux.just("a", "b");
        }

        @RateLimited(client = "#client")
        public void nothingFor(String client) {}

        @RateLimited(cost = "'much'")
        public void invalidCost() {}

        @Override
        @RateLimited
        public String toString() {
            return "gateway";
        }
    }

    @RateLimited(value = "billing", client = "'all'")
    static class Ledger implements Billing {
        @Override
        public void bill() {}

        public void other() {}
    }

    @RateLimited
    static class Archive {
        @Override
        public String toString() {
            return "archive";
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({AopAutoConfiguration.class, WeirMethodAutoConfiguration.class})
    static class Application {
        @Bean
        StubDecider decider() {
            return new StubDecider();
        }

        @Bean
        Gateway gateway() {
            return new Gateway();
        }

        @Bean
        Ledger ledger() {
            return new Ledger();
        }

        @Bean
        Archive archive() {
            return new Archive();
        }

        /** An interceptor behind that of the annotation, as that of transactions is. */
        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static Advisor counter() {
            NameMatchMethodPointcut mono = new NameMatchMethodPointcut();
            mono.addMethodName("mono");
            DefaultPointcutAdvisor advisor = new DefaultPointcutAdvisor(mono, (MethodInterceptor) call -> {
                INTERCEPTED.incrementAndGet();
                return call.proceed();
            });
            advisor.setOrder(Ordered.LOWEST_PRECEDENCE);
            return advisor;
        }

        @Bean
        Map<String, String> countries() {
            return Map.of("acme", "NZ");
        }
    }

    @BeforeAll
    void start() {
        context = new SpringApplicationBuilder(Application.class)
                .web(WebApplicationType.NONE)
                .properties("spring.application.name=shop", "weir.max-blocked-threads=1")
                .run();
        decider = context.getBean(StubDecider.class);
        gateway = context.getBean(Gateway.class);
    }

    @AfterAll
    void stop() {
        context.close();
    }

    @BeforeEach
    void allow() {
        decider.answer(StubDecider.allowed(null));
    }

    @Test
    void the_request_has_the_operation_and_the_values_of_the_expressions() {
        assertThat(gateway.send(new Message("acme", "gold", 3))).isEqualTo("sent");
        Request request = decider.onlyRequest();
        assertThat(request.client()).isEqualTo("acme");
        assertThat(request.tier()).isEqualTo("gold");
        assertThat(request.cost()).isEqualTo(3);
        assertThat(request.attributes()).isEqualTo(Map.of("operation", "send-sms", "country", "NZ"));
    }

    @Test
    void without_values_the_client_is_the_application_and_the_operation_is_the_method() {
        gateway.plain();
        assertThat(decider.onlyRequest().client()).isEqualTo("shop");
        assertThat(decider.onlyRequest().attributes()).isEqualTo(Map.of("operation", "Gateway.plain"));
    }

    @Test
    void a_denied_method_is_not_called() {
        int before = SENT.get();
        decider.answer(StubDecider.denied());
        assertThatThrownBy(() -> gateway.send(new Message("acme", "gold", 1)))
                .isInstanceOfSatisfying(RateLimitedException.class, failure -> {
                    assertThat(failure.retryAfter()).contains(Duration.ofMillis(19_200));
                    assertThat(failure.decision().httpStatus()).isEqualTo(429);
                })
                .hasMessage("send-sms: DENIED by policy p, LIMIT_EXCEEDED; retry after 19200ms");
        assertThat(SENT).hasValue(before);
    }

    @Test
    @Timeout(30)
    void throttled_calls_block_a_bounded_number_of_threads() {
        decider.answer(StubDecider.allowed(60_000L));
        Thread blocked = new Thread(() -> assertThatThrownBy(gateway::plain).isNotNull());
        blocked.start();
        await("the thread is blocked", Duration.ofSeconds(20), () -> blocked.getState() == Thread.State.TIMED_WAITING);
        assertThatThrownBy(() -> gateway.plain())
                .isInstanceOfSatisfying(RateLimitedException.class, failure -> {
                    assertThat(failure.retryAfter()).contains(Duration.ofSeconds(60));
                    assertThat(failure.decision().httpStatus()).isEqualTo(429);
                    assertThat(failure.decision().httpHeaders()).containsEntry("Retry-After", "60");
                })
                .hasMessage("Gateway.plain: throttled by policy p, but as many threads as permitted are blocked"
                        + " (weir.max-blocked-threads: 1); retry after 1m");
        blocked.interrupt();
    }

    @Test
    void an_annotation_of_a_class_applies_to_its_methods_and_one_of_a_method_comes_first() {
        Ledger ledger = context.getBean(Ledger.class);
        ledger.other();
        assertThat(decider.onlyRequest().attributes()).containsEntry("operation", "billing");
        allow();
        ledger.bill();
        assertThat(decider.onlyRequest().attributes()).containsEntry("operation", "bill");
    }

    @Test
    void an_annotation_of_a_class_does_not_apply_to_methods_of_object() {
        Ledger ledger = context.getBean(Ledger.class);
        assertThat(ledger.toString()).contains("Ledger@");
        assertThat(ledger.hashCode()).isEqualTo(ledger.hashCode());
        assertThat(ledger.equals(ledger)).isTrue();
        assertThat(context.getBean(Archive.class).toString()).isEqualTo("archive");
        assertThat(decider.requests).isEmpty();
    }

    @Test
    void an_annotation_of_to_string_applies() {
        assertThat(gateway.toString()).isEqualTo("gateway");
        assertThat(decider.onlyRequest().attributes()).containsEntry("operation", "Gateway.toString");
    }

    @Test
    void a_future_completes_when_the_decision_has_arrived() {
        CompletableFuture<ClientDecision> decision = new CompletableFuture<>();
        decider.answer(request -> decision);
        CompletableFuture<String> result = gateway.future("acme");
        assertThat(result).isNotDone();
        decision.complete(StubDecider.allowed(1L).apply(decider.onlyRequest()).join());
        assertThat(result.join()).isEqualTo("done");
    }

    @Test
    void the_future_of_a_denied_method_fails() {
        decider.answer(StubDecider.denied());
        assertThatThrownBy(() -> gateway.future("acme").join())
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(RateLimitedException.class);
    }

    @Test
    void a_stage_completes_when_the_decision_has_arrived() {
        CompletableFuture<ClientDecision> decision = new CompletableFuture<>();
        decider.answer(request -> decision);
        CompletableFuture<String> result = gateway.stage("acme").toCompletableFuture();
        assertThat(result).isNotDone();
        decision.complete(StubDecider.allowed(1L).apply(decider.onlyRequest()).join());
        assertThat(result.join()).isEqualTo("done");
    }

    @Test
    void a_future_that_is_no_stage_is_returned_after_the_decision() throws Exception {
        assertThat(gateway.task("acme").get()).isEqualTo("done");
        assertThat(decider.onlyRequest().client()).isEqualTo("acme");
        decider.answer(StubDecider.denied());
        assertThatThrownBy(() -> gateway.task("acme")).isInstanceOf(RateLimitedException.class);
    }

    @Test
    void a_future_of_a_subclass_is_returned_after_the_decision() {
        assertThat(gateway.receipt("acme").join()).isEqualTo("done");
        assertThat(decider.onlyRequest().client()).isEqualTo("acme");
        decider.answer(StubDecider.denied());
        assertThatThrownBy(() -> gateway.receipt("acme")).isInstanceOf(RateLimitedException.class);
    }

    @Test
    void each_subscription_to_a_mono_is_decided() {
        CompletableFuture<ClientDecision> decision = new CompletableFuture<>();
        decider.answer(request -> decision);
        Mono<String> result = gateway.mono("acme");
        assertThat(decider.requests).isEmpty();
        CompletableFuture<String> first = result.toFuture();
        assertThat(first).isNotDone();
        decision.complete(StubDecider.allowed(1L).apply(decider.onlyRequest()).join());
        assertThat(first.join()).isEqualTo("done");
        assertThat(result.block()).isEqualTo("done");
        assertThat(decider.requests).hasSize(2);
        assertThat(INTERCEPTED).hasValue(2);
        decider.answer(StubDecider.denied());
        assertThatThrownBy(result::block).isInstanceOf(RateLimitedException.class);
    }

    @Test
    void a_flux_returns_its_elements_or_fails() {
        assertThat(gateway.flux("acme").collectList().block()).containsExactly("a", "b");
        decider.answer(StubDecider.denied());
        assertThatThrownBy(() -> gateway.flux("acme").collectList().block()).isInstanceOf(RateLimitedException.class);
    }

    @Test
    void an_expression_without_a_valid_value_fails_with_its_place() {
        assertThatThrownBy(() -> gateway.nothingFor(null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("@RateLimited on Gateway.nothingFor: client: #client must not be null");
        assertThatThrownBy(() -> gateway.invalidCost())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("@RateLimited on Gateway.invalidCost: cost: 'much' must be a whole number, is much");
        assertThat(decider.requests).isEmpty();
    }
}
