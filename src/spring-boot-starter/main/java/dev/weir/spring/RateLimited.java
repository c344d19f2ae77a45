package dev.weir.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Gets a decision by Weir before each call of a method of a Spring bean. The value names the operation: it is the
 * attribute {@code operation} of the request, which policies match.
 *
 * <pre>{@code
 * @RateLimited(value = "send-sms", client = "#message.tenant", cost = "#message.parts")
 * public Receipt send(Message message) { … }
 * }</pre>
 *
 * <pre>{@code
 * policies:
 *   - id: sms
 *     match: {operation: send-sms}
 *     limits: [{algorithm: gcra, limit: 100, per: 1m}]
 * }</pre>
 *
 * <p>If Weir does not allow the call, the method is not called and the caller gets a {@link RateLimitedException}. If
 * there is no decision and {@code weir.fallback} is {@code fail}, it gets a
 * {@link dev.weir.client.decision.NoDecisionException}. If the policy throttles, the method is called after the decision's
 * {@code delayMs}. If too many threads are blocked by such delays ({@code weir.max-blocked-threads}), the caller gets a
 * {@link RateLimitedException} with the delay as retry time.
 *
 * <p>If the declared type of the method is {@link java.util.concurrent.CompletableFuture},
 * {@link java.util.concurrent.CompletionStage} or a reactive type such as Reactor's {@code Mono} and {@code Flux}, the
 * calling thread does not wait. The result fails with the exception. A future's method is called on the client's
 * executor. A reactive method is called at each subscription, which is decided on its own, on Reactor's parallel
 * scheduler. Other methods, such as one with the type {@link java.util.concurrent.Future} or a subclass of
 * {@code CompletableFuture}, block the calling thread until the decision. Suspending functions of Kotlin are not
 * supported.
 *
 * <p>On a class, the annotation applies to all its public methods, except for those of {@link Object} such as
 * {@code toString}. As with other annotations of Spring, calls within the same object are not decided.
 */
@Documented
@Inherited
@Target({ElementType.METHOD, ElementType.TYPE})
@Retention(RetentionPolicy.RUNTIME)
public @interface RateLimited {

    /**
     * The operation, the attribute {@code operation} of the request. The default is the simple name of the class and
     * the name of the method, such as {@code SmsGateway.send}.
     *
     * @return the name of the operation
     */
    String value() default "";

    /**
     * A SpEL expression for the client whose quota is used. It can use the arguments ({@code #name}, {@code #p0}), beans
     * ({@code @name}) and, as its root, the called object. The default is the property {@code weir.method.client} and,
     * without it, {@code spring.application.name}: all calls of the application share one quota.
     *
     * @return the expression, which must not return null
     */
    String client() default "";

    /**
     * A SpEL expression for the tier. By default there is none.
     *
     * @return the expression; if it returns null, the request has no tier
     */
    String tier() default "";

    /**
     * A SpEL expression for the cost in tokens. The default is 1.
     *
     * @return the expression, which returns a whole number, 0 or more
     */
    String cost() default "1";

    /**
     * Whether each call makes a reservation, which is released when the call ends: when the method has returned or thrown
     * an exception; for a future, when it completes or the caller cancels it; for a reactive type, when it completes, fails
     * or is cancelled. So a call occupies slots of concurrency limits for its duration.
     *
     * @return whether to hold what the call needs until it ends; {@code weir.hold-ttl} bounds that if the application is
     *     killed
     */
    boolean hold() default false;

    /**
     * Further attributes, each a name and a SpEL expression: {@code "country=#message.country"}.
     *
     * @return the attributes; one whose expression returns null is left out
     */
    String[] attributes() default {};
}
