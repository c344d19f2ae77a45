package dev.weir.server.http;

import dev.weir.config.BadSettingException;
import dev.weir.config.WeirConfig.Service;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The tokens of an instance.
 *
 * @param changeTokens tokens that permit everything; this instance sends the first to other instances
 * @param readToken permits reading
 * @param decideToken permits only deciding, acknowledging and {@link AccessControl#PEEK_PATH}
 */
public record AccessTokens(
        List<AccessToken> changeTokens, Optional<AccessToken> readToken, Optional<AccessToken> decideToken) {

    public AccessTokens {
        changeTokens = List.copyOf(changeTokens);
    }

    /**
     * Returns the change tokens of the configured file, or of the environment if there is no file, and the other tokens
     * of the environment.
     *
     * @throws BadSettingException if a token cannot be read or is invalid
     */
    public static AccessTokens read(Service service, Map<String, String> environment) {
        List<AccessToken> toChange = service.tokens()
                .file()
                .map(AccessToken::ofFile)
                .orElseGet(
                        () -> AccessToken.fromEnvironment(environment).stream().toList());
        return new AccessTokens(
                toChange,
                AccessToken.fromVariable(Service.READ_TOKEN_VARIABLE, environment),
                AccessToken.fromVariable(Service.DECIDE_TOKEN_VARIABLE, environment));
    }

    boolean isEmpty() {
        return changeTokens.isEmpty() && readToken.isEmpty() && decideToken.isEmpty();
    }

    /** Returns whether one of the tokens permits {@link AccessControl#DECIDE_PATH}. */
    public boolean permitDeciding() {
        return !changeTokens.isEmpty() || decideToken.isPresent();
    }

    /** Returns the token that this instance sends to other instances. */
    public Optional<AccessToken> peerToken() {
        return changeTokens.stream().findFirst();
    }
}
