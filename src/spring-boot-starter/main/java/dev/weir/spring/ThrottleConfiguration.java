package dev.weir.spring;

import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Configures how many threads throttled calls may block: those of the servlet filter and of methods together. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(WeirProperties.class)
public class ThrottleConfiguration {

    private static final String MAX_THREADS = "weir.max-blocked-threads";
    private static final int DEFAULT_SERVER_THREADS = 200;
    private static final int DEFAULT_DIVISOR = 4;

    @Bean
    @ConditionalOnMissingBean
    static ThrottleSleeper weirThrottleSleeper(WeirProperties properties, Environment environment) {
        int maxThreads =
                properties.maxBlockedThreads() == null ? defaultThreads(environment) : properties.maxBlockedThreads();
        if (maxThreads < 0) {
            throw new InvalidConfigurationPropertyValueException(MAX_THREADS, maxThreads, "It must be 0 or more.");
        }
        return new ThrottleSleeper(maxThreads);
    }

    private static int defaultThreads(Environment environment) {
        int ofServer = environment.getProperty("server.tomcat.threads.max", Integer.class, DEFAULT_SERVER_THREADS);
        return Math.max(1, ofServer / DEFAULT_DIVISOR);
    }
}
