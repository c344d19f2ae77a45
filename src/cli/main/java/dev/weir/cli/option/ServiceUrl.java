package dev.weir.cli.option;

import dev.weir.config.WeirConfig.Service;
import dev.weir.console.ClusterOptions;
import dev.weir.console.InputException;
import java.util.Optional;

/**
 * The URL of the HTTP service of an instance.
 *
 * @param source the option or environment variable with the URL, for messages
 */
public record ServiceUrl(String source, String text) {

    public static final String OPTION = "--service";

    /** The environment variable with the default of the option. Annotations need a constant. */
    public static final String VARIABLE = "WEIR_URL";

    static final String DEFAULT = "http://127.0.0.1:" + Service.DEFAULT_PORT;

    public static ServiceUrl ofOption(String url) {
        return new ServiceUrl(OPTION, url);
    }

    /** Returns the URL of the environment variable; empty if it is blank or not set. */
    public static Optional<ServiceUrl> ofEnvironment() {
        return ClusterOptions.variable(VARIABLE).map(url -> new ServiceUrl(VARIABLE, url));
    }

    public InputException invalid(Exception cause) {
        return new InputException(source + " must be a URL such as " + DEFAULT + ", is '" + text + "'", cause);
    }
}
