package dev.weir.spring.http;

import dev.weir.spring.ExchangeRequestMapper;
import dev.weir.spring.RateLimited;
import dev.weir.spring.RateLimitedAdvice;
import dev.weir.spring.WeirAutoConfiguration;
import dev.weir.spring.WeirDecider;
import dev.weir.spring.WeirProperties;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;

/** Configures the filter of WebFlux applications by the properties {@code weir.filter.*}, and responses to failures. */
@AutoConfiguration(after = WeirAutoConfiguration.class)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
@ConditionalOnClass({WebFilter.class, Mono.class})
@ConditionalOnBean(WeirDecider.class)
@EnableConfigurationProperties(WeirProperties.class)
public class WeirReactiveAutoConfiguration {

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

    /** Configures the filter. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnProperty("weir.filter.enabled")
    static class ReactiveFilterConfiguration {

        @Bean
        @ConditionalOnMissingBean
        ExchangeRequestMapper weirExchangeRequestMapper(WeirProperties properties) {
            return WeirReactiveFilter.mapper(new HttpRequestMapping(properties.filter()));
        }

        @Bean
        @ConditionalOnMissingBean
        WeirReactiveFilter weirReactiveFilter(
                WeirDecider decider, ExchangeRequestMapper mapper, WeirProperties properties) {
            WeirProperties.FilterProperties filter = properties.filter();
            return new WeirReactiveFilter(
                    HttpDecider.of(decider, properties),
                    mapper,
                    new HttpRequestMapping(filter),
                    properties.xRateLimit(),
                    filter.order());
        }
    }
}
