package dev.weir.spring.http;

import dev.weir.spring.RateLimited;
import dev.weir.spring.RateLimitedAdvice;
import dev.weir.spring.ServletRequestMapper;
import dev.weir.spring.ThrottleConfiguration;
import dev.weir.spring.ThrottleSleeper;
import dev.weir.spring.WeirAutoConfiguration;
import dev.weir.spring.WeirDecider;
import dev.weir.spring.WeirProperties;
import jakarta.servlet.DispatcherType;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.Ordered;
import org.springframework.web.filter.OncePerRequestFilter;

/** Configures the filters of servlet applications by {@code weir.filter.*}, and responses to failures. */
@AutoConfiguration(after = WeirAutoConfiguration.class)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnClass(OncePerRequestFilter.class)
@ConditionalOnBean(WeirDecider.class)
@EnableConfigurationProperties(WeirProperties.class)
public class WeirServletAutoConfiguration {

    /**
     * Returns the handler of exceptions that {@link RateLimited} methods throw.
     *
     * @param properties the properties weir.*
     * @return the handler
     */
    @Bean
    @ConditionalOnMissingBean
    public RateLimitedAdvice weirRateLimitedAdvice(WeirProperties properties) {
        return new RateLimitedAdvice(properties.xRateLimit());
    }

    /** Configures the filters. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnProperty("weir.filter.enabled")
    @Import(ThrottleConfiguration.class)
    static class ServletFilterConfiguration {

        @Bean
        @ConditionalOnMissingBean
        ServletRequestMapper weirServletRequestMapper(WeirProperties properties) {
            return WeirServletFilter.mapper(new HttpRequestMapping(properties.filter()));
        }

        @Bean
        @ConditionalOnMissingBean(name = "weirServletFilter")
        FilterRegistrationBean<WeirServletFilter> weirServletFilter(
                WeirDecider decider, ServletRequestMapper mapper, WeirProperties properties) {
            WeirProperties.FilterProperties filter = properties.filter();
            FilterRegistrationBean<WeirServletFilter> bean = new FilterRegistrationBean<>(new WeirServletFilter(
                    HttpDecider.of(decider, properties),
                    mapper,
                    new HttpRequestMapping(filter),
                    properties.xRateLimit()));
            bean.setOrder(filter.order());
            bean.setDispatcherTypes(DispatcherType.REQUEST);
            return bean;
        }

        @Bean
        @ConditionalOnMissingBean(name = "weirServletDelayFilter")
        FilterRegistrationBean<ServletDelayFilter> weirServletDelayFilter(
                ThrottleSleeper sleeper, WeirProperties properties) {
            FilterRegistrationBean<ServletDelayFilter> bean = new FilterRegistrationBean<>(
                    new ServletDelayFilter(sleeper, properties.filter().asyncDelay()));
            bean.setOrder(Ordered.LOWEST_PRECEDENCE);
            bean.setMatchAfter(true); // after filters of the application with the same order
            bean.setDispatcherTypes(DispatcherType.REQUEST);
            return bean;
        }
    }
}
