package dev.weir.spring;

import java.lang.reflect.Method;
import org.springframework.aop.Advisor;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.ComposablePointcut;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcher;
import org.springframework.aop.support.annotation.AnnotationClassFilter;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;
import org.springframework.util.ReflectionUtils;

/** Configures {@link RateLimited}. Spring Boot's {@code spring.aop.*} properties apply. */
@AutoConfiguration(after = WeirAutoConfiguration.class)
@ConditionalOnBean(WeirDecider.class)
@EnableConfigurationProperties(WeirProperties.class)
@Import(ThrottleConfiguration.class)
public class WeirMethodAutoConfiguration {

    /** After authorization, so that refused calls are not charged; before transactions, so that none is held. */
    private static final int ORDER = Ordered.LOWEST_PRECEDENCE - 100;

    /** Matches methods, except for those of {@link Object}: a log statement that calls toString is not charged. */
    private static final class OwnMethodMatcher extends StaticMethodMatcher {
        @Override
        public boolean matches(Method method, Class<?> type) {
            return !ReflectionUtils.isObjectMethod(method);
        }
    }

    /**
     * Returns the advisor of {@link RateLimited} methods. Its interceptor is created at the first call, since advisors
     * are created before other beans.
     *
     * @param interceptor the interceptor
     * @return the advisor
     */
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static Advisor weirRateLimitedAdvisor(ObjectProvider<RateLimitedInterceptor> interceptor) {
        Pointcut annotated = new ComposablePointcut(new AnnotationMatchingPointcut(null, RateLimited.class, true))
                .union((Pointcut) new ComposablePointcut(
                        new AnnotationClassFilter(RateLimited.class, true), new OwnMethodMatcher()));
        DefaultPointcutAdvisor advisor =
                new DefaultPointcutAdvisor(annotated, (org.aopalliance.intercept.MethodInterceptor)
                        call -> interceptor.getObject().invoke(call));
        advisor.setOrder(ORDER);
        return advisor;
    }

    /**
     * Returns the interceptor of {@link RateLimited} methods.
     *
     * @param decider decides the requests
     * @param sleeper blocks throttled calls
     * @param properties the properties
     * @param environment has the name of the application
     * @param beans resolves the beans in expressions
     * @return the interceptor
     */
    @Bean
    @Lazy
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    @ConditionalOnMissingBean
    RateLimitedInterceptor weirRateLimitedInterceptor(
            WeirDecider decider,
            ThrottleSleeper sleeper,
            WeirProperties properties,
            Environment environment,
            BeanFactory beans) {
        RateLimitedExpressions expressions = new RateLimitedExpressions(
                beans, properties.method().client(), environment.getProperty("spring.application.name", "application"));
        return new RateLimitedInterceptor(decider, expressions, sleeper, properties.fallback(), properties.holdTtl());
    }
}
