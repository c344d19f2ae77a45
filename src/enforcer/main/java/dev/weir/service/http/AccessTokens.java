package dev.weir.service.http;

import dev.weir.config.WeirConfig.Service;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The tokens of an instance.
 *
 * @param changeTokens each permits everything; the first is shown to other instances
 * @param readToken permits reading
 * @param decideToken permits asking how requests would be decided
 */
public record AccessTokens(
        List<AccessToken> changeTokens, Optional<AccessToken> readToken, Optional<AccessToken> decideToken) {

    public AccessTokens {
        changeTokens = List.copyOf(changeTokens);
    }

    /**
     * The tokens of the file if one is configured, else that of the environment; and the others of the environment.
     *
     * @throws BadSettingException if one cannot be read or is none
     */
    public static AccessTokens read(Service service, Map<String, String> environment) {
        List<AccessToken> toChange = service.tokenFile()
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

    /** What this instance shows to others. */
    public Optional<AccessToken> peerToken() {
        return changeTokens.stream().findFirst();
    }
}
