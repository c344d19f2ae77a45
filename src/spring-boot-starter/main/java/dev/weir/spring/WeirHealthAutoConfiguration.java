package dev.weir.spring;

import dev.weir.client.WeirClient;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Configures the health indicator {@code weir} if Spring Boot Actuator is on the class path. */
@AutoConfiguration(
        after = WeirAutoConfiguration.class,
        beforeName = "org.springframework.boot.actuate.autoconfigure.health.HealthContributorAutoConfiguration")
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnBean(WeirClient.class)
@ConditionalOnEnabledHealthIndicator("weir")
public class WeirHealthAutoConfiguration {

    /**
     * Returns the health of the client.
     *
     * @param weir the client
     * @return the indicator
     */
    @Bean
    @ConditionalOnMissingBean(name = "weirHealthIndicator")
    public WeirHealthIndicator weirHealthIndicator(WeirClient weir) {
        return new WeirHealthIndicator(() -> weir.isReady(), () -> weir.stats(), () -> weir.failure());
    }
}
