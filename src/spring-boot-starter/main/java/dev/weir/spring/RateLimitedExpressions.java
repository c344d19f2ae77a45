package dev.weir.spring;

import dev.weir.client.RequestBuilder;
import dev.weir.event.Request;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.aopalliance.intercept.MethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.MethodClassKey;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.util.ClassUtils;

/** The requests of {@link RateLimited} methods. Parses each annotation once. Thread-safe. */
final class RateLimitedExpressions {

    static final String OPERATION = "operation";

    private final SpelExpressionParser parser = new SpelExpressionParser();
    private final ParameterNameDiscoverer parameterNames = new DefaultParameterNameDiscoverer();
    private final Map<MethodClassKey, ParsedAnnotation> parsed = new ConcurrentHashMap<>(); // bounded by the code
    private final BeanFactory beans;
    private final Expression defaultClient;

    /**
     * An annotation with its expressions.
     *
     * @param isHeld whether calls hold a reservation
     * @param method the method of the class, not of an interface
     * @param client the expression of the client
     * @param tier the expression of the tier; null if there is none
     * @param attributes the expressions of the attributes by name
     */
    private record ParsedAnnotation(
            Method method,
            boolean isHeld,
            String operation,
            Expression client,
            Expression tier,
            Expression cost,
            Map<String, Expression> attributes) {}

    /**
     * Creates expressions.
     *
     * @param beans resolves {@code @name}
     * @param defaultClient the expression of the client for annotations that have none; null if there is none
     * @param application the client for annotations that have none, without a default expression
     */
    RateLimitedExpressions(BeanFactory beans, String defaultClient, String application) {
        this.beans = beans;
        this.defaultClient = defaultClient == null || defaultClient.isBlank()
                ? parser.parseExpression("'" + application.replace("'", "''") + "'")
                : parse("weir.method.client", "client", defaultClient);
    }

    String operation(MethodInvocation call) {
        return annotation(call).operation();
    }

    /** Returns whether a call holds a reservation until it ends. */
    boolean isHeld(MethodInvocation call) {
        return annotation(call).isHeld();
    }

    /**
     * Returns the request for a call.
     *
     * @throws IllegalArgumentException if an expression has no valid value; the message names the method
     */
    Request request(MethodInvocation call) {
        ParsedAnnotation annotation = annotation(call);
        MethodBasedEvaluationContext context = new MethodBasedEvaluationContext(
                call.getThis(), annotation.method(), call.getArguments(), parameterNames);
        context.setBeanResolver(new BeanFactoryResolver(beans));
        RequestBuilder request = RequestBuilder.of(
                        required(annotation, "client", value(annotation, "client", annotation.client(), context)))
                .attribute(OPERATION, annotation.operation())
                .cost(cost(annotation, context));
        if (annotation.tier() != null) {
            request.tier(text(value(annotation, "tier", annotation.tier(), context)));
        }
        annotation.attributes().forEach((name, expression) -> {
            Object value = value(annotation, "attributes", expression, context);
            if (value != null) {
                request.attribute(name, value.toString());
            }
        });
        return request.build();
    }

    private long cost(ParsedAnnotation annotation, EvaluationContext context) {
        Object value = value(annotation, "cost", annotation.cost(), context);
        if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return ((Number) value).longValue();
        }
        throw new IllegalArgumentException(place(annotation.method(), "cost")
                + annotation.cost().getExpressionString() + " must be a whole number, is " + value);
    }

    private static String required(ParsedAnnotation annotation, String field, Object value) {
        if (value == null) {
            throw new IllegalArgumentException(place(annotation.method(), field)
                    + annotation.client().getExpressionString() + " must not be null");
        }
        return value.toString();
    }

    private Object value(ParsedAnnotation annotation, String field, Expression expression, EvaluationContext context) {
        try {
            return expression.getValue(context);
        } catch (EvaluationException e) {
            throw new IllegalArgumentException(
                    place(annotation.method(), field) + expression.getExpressionString() + ": " + e.getMessage()
                            + (parameterNames.getParameterNames(annotation.method()) == null
                                    ? "; the names of the arguments are unknown: compile with -parameters"
                                    : ""),
                    e);
        }
    }

    private static String text(Object value) {
        return value == null ? null : value.toString();
    }

    private ParsedAnnotation annotation(MethodInvocation call) {
        Class<?> type =
                call.getThis() == null ? call.getMethod().getDeclaringClass() : AopUtils.getTargetClass(call.getThis());
        return parsed.computeIfAbsent(new MethodClassKey(call.getMethod(), type), key -> parse(call.getMethod(), type));
    }

    private ParsedAnnotation parse(Method called, Class<?> type) {
        Method method = AopUtils.getMostSpecificMethod(called, type);
        RateLimited annotation = find(method, called, type);
        String operation = annotation.value().isEmpty()
                ? ClassUtils.getUserClass(type).getSimpleName() + "." + method.getName()
                : annotation.value();
        Map<String, Expression> attributes = new LinkedHashMap<>();
        for (String each : annotation.attributes()) {
            String[] parts = each.split("=", 2);
            if (parts.length == 1 || parts[0].isBlank()) {
                throw new IllegalArgumentException(
                        place(method, "attributes") + "\"" + each + "\" must have the form NAME=EXPRESSION");
            }
            attributes.put(parts[0].strip(), parse(place(method, "attributes"), parts[0], parts[1]));
        }
        return new ParsedAnnotation(
                method,
                annotation.hold(),
                operation,
                annotation.client().isEmpty()
                        ? defaultClient
                        : parse(place(method, "client"), "client", annotation.client()),
                annotation.tier().isEmpty() ? null : parse(place(method, "tier"), "tier", annotation.tier()),
                parse(place(method, "cost"), "cost", annotation.cost()),
                attributes);
    }

    private static RateLimited find(AnnotatedElement... places) {
        for (AnnotatedElement place : places) {
            RateLimited annotation = AnnotatedElementUtils.findMergedAnnotation(place, RateLimited.class);
            if (annotation != null) {
                return annotation;
            }
        }
        throw new IllegalStateException("no annotation RateLimited on " + places[0]);
    }

    private Expression parse(String place, String what, String text) {
        try {
            return parser.parseExpression(text);
        } catch (ParseException e) {
            throw new IllegalArgumentException(
                    place + ": the expression of " + what + " is invalid: " + e.toDetailedString(), e);
        }
    }

    private static String place(Method method, String field) {
        return "@RateLimited on " + method.getDeclaringClass().getSimpleName() + "." + method.getName() + ": " + field
                + ": ";
    }
}
