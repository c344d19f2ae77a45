package dev.weir.spring;

import dev.weir.client.ClientMetricsBinder;
import dev.weir.client.WeirClient;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Binds the metrics of the client, {@code weir.client.*}, to all registries if Micrometer is on the class path. */
@AutoConfiguration(after = WeirAutoConfiguration.class)
@ConditionalOnClass(MeterBinder.class)
@ConditionalOnBean(WeirClient.class)
public class WeirMetricsAutoConfiguration {

    /**
     * Returns the metrics of the client.
     *
     * @param weir the client
     * @return a binder, which Spring Boot Actuator binds
     */
    @Bean
    @ConditionalOnMissingBean(name = "weirClientMetrics")
    public MeterBinder weirClientMetrics(WeirClient weir) {
        return ClientMetricsBinder.of(weir);
    }
}
