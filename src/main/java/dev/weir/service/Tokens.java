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
record Tokens(List<Token> toChange, Optional<Token> toRead, Optional<Token> toDecide) {

    Tokens {
        toChange = List.copyOf(toChange);
    }

    /**
     * The tokens of the file if one is configured, else that of the environment; and the others of the environment.
     *
     * @throws BadSettingException if one cannot be read or is none
     */
    static Tokens read(Service service, Map<String, String> environment) {
        List<Token> toChange = service.tokenFile()
                .map(Token::ofFile)
                .orElseGet(() -> Token.fromEnvironment(environment).stream().toList());
        return new Tokens(
                toChange,
                Token.fromVariable(Service.READ_TOKEN_VARIABLE, environment),
                Token.fromVariable(Service.DECIDE_TOKEN_VARIABLE, environment));
    }

    boolean areEmpty() {
        return toChange.isEmpty() && toRead.isEmpty() && toDecide.isEmpty();
    }

    /** What this instance shows to others. */
    Optional<Token> own() {
        return toChange.stream().findFirst();
    }
}
