package dev.weir.spring;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.decision.ClientDecision;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.test.util.AopTestUtils;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Tests that a method with {@code @RateLimited(hold = true)} holds a reservation for exactly the duration of a call. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HeldMethodTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private ConfigurableApplicationContext context;
    private StubDecider decider;
    private Provider provider;

    @RateLimited(hold = true)
    static class Provider {

        private final AtomicInteger calls = new AtomicInteger();
        private volatile Runnable during = () -> {};
        private volatile CompletableFuture<String> future;
        private volatile Sinks.Many<String> values;

        public String call() {
            calls.incrementAndGet();
            during.run();
            return "done";
        }

        public CompletableFuture<String> future() {
            calls.incrementAndGet();
            during.run();
            return future;
        }

        public Mono<String> mono() {
            calls.incrementAndGet();
            return Mono.fromFuture(future, true);
        }

        public Flux<String> flux() {
            calls.incrementAndGet();
            return values.asFlux();
        }

        @RateLimited
        public String unheld() {
            return "done";
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
        Provider provider() {
            return new Provider();
        }
    }

    @BeforeAll
    void start() {
        context = new SpringApplicationBuilder(Application.class)
                .web(WebApplicationType.NONE)
                .properties("weir.max-blocked-threads=0")
                .run();
        decider = context.getBean(StubDecider.class);
        provider = context.getBean(Provider.class);
    }

    @AfterAll
    void stop() {
        context.close();
    }

    @BeforeEach
    void allow() {
        decider.answer(StubDecider.allowed(null));
        target().calls.set(0);
        target().during = () -> {};
        target().future = new CompletableFuture<>();
        target().values = Sinks.many().unicast().onBackpressureBuffer();
    }

    /** Returns the object behind the proxy, whose fields the proxy does not have. */
    private Provider target() {
        return AopTestUtils.getTargetObject(provider);
    }

    private void assertHeld() {
        assertThat(decider.onlyReservation().ends()).isEmpty();
    }

    private void awaitCall() {
        await("the method is called", PATIENCE, () -> target().calls.get() == 1);
    }

    @Test
    void a_call_is_released_when_it_returns() {
        target().during = this::assertHeld;
        assertThat(provider.call()).isEqualTo("done");
        decider.awaitRelease();
        assertThat(decider.ttls).containsExactly(Duration.ofSeconds(30));
    }

    @Test
    void a_call_that_throws_is_released() {
        target().during = () -> {
            throw new IllegalStateException("as requested");
        };
        assertThatThrownBy(() -> provider.call()).hasMessage("as requested");
        decider.awaitRelease();
        decider.answer(StubDecider.allowed(null));
        assertThatThrownBy(() -> provider.future().join()).hasRootCauseMessage("as requested");
        decider.awaitRelease();
    }

    @Test
    void a_call_that_is_not_made_is_released() {
        decider.answer(StubDecider.allowed(60_000L));
        assertThatThrownBy(() -> provider.call()).isInstanceOf(RateLimitedException.class);
        decider.awaitRelease();
        assertThat(target().calls).hasValue(0);
    }

    @Test
    void a_denied_call_reserves_nothing() {
        decider.answer(StubDecider.denied());
        assertThatThrownBy(() -> provider.call()).isInstanceOf(RateLimitedException.class);
        assertThatThrownBy(() -> provider.future().join()).hasCauseInstanceOf(RateLimitedException.class);
        assertThatThrownBy(() -> provider.mono().block()).isInstanceOf(RateLimitedException.class);
        assertThat(decider.reservations).isEmpty();
    }

    @Test
    void a_method_without_hold_reserves_nothing() {
        assertThat(provider.unheld()).isEqualTo("done");
        assertThat(decider.ttls).isEmpty();
    }

    @Test
    void a_future_is_released_when_it_completes() {
        CompletableFuture<String> result = provider.future();
        assertHeld();
        target().future.complete("done");
        assertThat(result.join()).isEqualTo("done");
        decider.awaitRelease();
    }

    @Test
    void a_future_that_fails_is_released() {
        CompletableFuture<String> result = provider.future();
        assertHeld();
        target().future.completeExceptionally(new IllegalStateException("as requested"));
        assertThatThrownBy(result::join).isInstanceOf(CompletionException.class);
        decider.awaitRelease();
    }

    @Test
    void a_future_that_is_cancelled_is_released() {
        CompletableFuture<String> result = provider.future();
        assertHeld();
        assertThat(result.cancel(false)).isTrue();
        decider.awaitRelease();
    }

    @Test
    void a_future_that_is_cancelled_before_its_decision_is_released_when_that_arrives() {
        CompletableFuture<ClientDecision> decision = new CompletableFuture<>();
        decider.answer(request -> decision);
        assertThat(provider.future().cancel(false)).isTrue();
        assertThat(decider.reservations).isEmpty();
        decision.complete(StubDecider.allowed(null).apply(decider.onlyRequest()).join());
        decider.awaitRelease();
        assertThat(target().calls).hasValue(0);
    }

    @Test
    void a_future_that_is_cancelled_during_its_delay_is_released_and_not_called() {
        decider.answer(StubDecider.allowed(50L));
        CompletableFuture<String> result = provider.future();
        assertThat(result.cancel(false)).isTrue();
        decider.awaitRelease();
        decider.answer(StubDecider.allowed(100L));
        CompletableFuture<String> later = provider.future();
        target().future.complete("done");
        assertThat(later.join()).isEqualTo("done");
        assertThat(target().calls).hasValue(1);
    }

    @Test
    void a_mono_is_released_when_it_completes_or_fails() {
        CompletableFuture<String> result = provider.mono().toFuture();
        awaitCall();
        assertHeld();
        target().future.complete("done");
        assertThat(result.join()).isEqualTo("done");
        decider.awaitRelease();
        allow();
        CompletableFuture<String> failing = provider.mono().toFuture();
        awaitCall();
        assertHeld();
        target().future.completeExceptionally(new IllegalStateException("as requested"));
        assertThatThrownBy(failing::join).isInstanceOf(CompletionException.class);
        decider.awaitRelease();
    }

    @Test
    void a_mono_that_times_out_is_released() {
        Mono<String> result = provider.mono().timeout(Duration.ofMillis(100));
        assertThatThrownBy(result::block).hasCauseInstanceOf(TimeoutException.class);
        decider.awaitRelease();
    }

    @Test
    void a_mono_that_is_cancelled_before_its_decision_is_released_when_that_arrives() {
        CompletableFuture<ClientDecision> decision = new CompletableFuture<>();
        decider.answer(request -> decision);
        provider.mono().subscribe().dispose();
        assertThat(decider.reservations).isEmpty();
        decision.complete(StubDecider.allowed(null).apply(decider.onlyRequest()).join());
        decider.awaitRelease();
        assertThat(target().calls).hasValue(0);
    }

    @Test
    void a_flux_is_released_when_it_completes_or_is_cancelled() {
        List<String> received = new ArrayList<>();
        provider.flux().subscribe(received::add);
        awaitCall();
        target().values.tryEmitNext("a").orThrow();
        assertHeld();
        target().values.tryEmitComplete().orThrow();
        decider.awaitRelease();
        assertThat(received).containsExactly("a");
        allow();
        Disposable subscription = provider.flux().subscribe();
        awaitCall();
        assertHeld();
        subscription.dispose();
        decider.awaitRelease();
    }
}
