package dev.weir.spring;

import dev.weir.client.ClientBuilder;

/**
 * Changes the settings of the auto-configured {@link dev.weir.client.WeirClient} before it is started. All beans of this
 * type are called in their order, after the properties were applied.
 */
@FunctionalInterface
public interface WeirClientCustomizer {

    /**
     * Changes settings.
     *
     * @param client the builder of the client
     */
    void customize(ClientBuilder client);
}
