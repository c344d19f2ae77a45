package dev.weir.service;

import dev.weir.config.WeirConfig.Service;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The tokens of an instance.
 *
 * @param toChange each permits everything; the first is shown to other instances
 * @param toRead permits reading
 * @param toDecide permits asking how requests would be decided
 */
record AccessTokens(List<AccessToken> toChange, Optional<AccessToken> toRead, Optional<AccessToken> toDecide) {

    AccessTokens {
        toChange = List.copyOf(toChange);
    }

    /**
     * The tokens of the file if one is configured, else that of the environment; and the others of the environment.
     *
     * @throws BadSettingException if one cannot be read or is none
     */
    static AccessTokens read(Service service, Map<String, String> environment) {
        List<AccessToken> toChange = service.tokenFile()
                .map(AccessToken::ofFile)
                .orElseGet(
                        () -> AccessToken.fromEnvironment(environment).stream().toList());
        return new AccessTokens(
                toChange,
                AccessToken.fromVariable(Service.READ_TOKEN_VARIABLE, environment),
                AccessToken.fromVariable(Service.DECIDE_TOKEN_VARIABLE, environment));
    }

    boolean areEmpty() {
        return toChange.isEmpty() && toRead.isEmpty() && toDecide.isEmpty();
    }

    /** What this instance shows to others. */
    Optional<AccessToken> own() {
        return toChange.stream().findFirst();
    }
}
