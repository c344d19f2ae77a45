package dev.weir.service;

import dev.weir.config.WeirConfig.Service;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.security.MessageDigest;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The secret that callers show to be trusted. It is printed nowhere. */
public final class Token {

    static final int MIN_LENGTH = 16;

    private static final Logger LOG = LoggerFactory.getLogger(Token.class);

    private static final int MAX_FILE_BYTES = 4096;
    private static final String BEARER = "bearer ";

    /** What may follow {@code Bearer} (RFC 6750, 2.1). */
    private static final Pattern SYNTAX = Pattern.compile("[A-Za-z0-9._~+/-]+=*");

    private final String text;

    private Token(String text) {
        this.text = text;
    }

    /**
     * The token of the file if one is configured, else that of the environment; empty if there is neither.
     *
     * @throws BadSettingException if it cannot be read or is none
     */
    public static Optional<Token> read(Service service, Map<String, String> environment) {
        if (service.tokenFile().isPresent()) {
            Path file = service.tokenFile().get();
            return Optional.of(of("service.token-file: " + file, content(file)));
        }
        return fromEnvironment(environment);
    }

    /**
     * The token of the environment.
     *
     * @throws BadSettingException if it is none
     */
    public static Optional<Token> fromEnvironment(Map<String, String> environment) {
        return fromVariable(Service.TOKEN_VARIABLE, environment);
    }

    /**
     * The token of the environment that permits reading only.
     *
     * @throws BadSettingException if it is none
     */
    static Optional<Token> toRead(Map<String, String> environment) {
        return fromVariable(Service.READ_TOKEN_VARIABLE, environment);
    }

    private static Optional<Token> fromVariable(String variable, Map<String, String> environment) {
        return Optional.ofNullable(environment.get(variable))
                .map(text -> of("the environment variable " + variable, text));
    }

    /** What an {@code Authorization} header says to show it. */
    public String authorization() {
        return "Bearer " + text;
    }

    /** Whether an {@code Authorization} header shows it; takes as long for any other token of the same length. */
    boolean isShownBy(String authorization) {
        boolean bearer = authorization.regionMatches(true, 0, BEARER, 0, BEARER.length());
        String shown = bearer ? authorization.substring(BEARER.length()).strip() : "";
        return MessageDigest.isEqual(shown.getBytes(StandardCharsets.UTF_8), text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public String toString() {
        return "<hidden>";
    }

    private static Token of(String source, String written) {
        String text = written.strip();
        if (text.length() < MIN_LENGTH) {
            throw new BadSettingException(
                    source + ": a token has at least " + MIN_LENGTH + " characters, this one has " + text.length(),
                    null);
        }
        if (!SYNTAX.matcher(text).matches()) {
            throw new BadSettingException(source + ": a token is made of letters, digits and . _ ~ + / - =", null);
        }
        return new Token(text);
    }

    /** Whether every user of this machine can read a file, as far as the file system tells. */
    static boolean isOpen(Path file) throws IOException {
        PosixFileAttributeView posix = Files.getFileAttributeView(file, PosixFileAttributeView.class);
        return posix != null && posix.readAttributes().permissions().contains(PosixFilePermission.OTHERS_READ);
    }

    private static String content(Path file) {
        try {
            if (Files.size(file) > MAX_FILE_BYTES) {
                throw new BadSettingException("service.token-file: " + file + " is too long for a token", null);
            }
            if (isOpen(file)) {
                LOG.warn("service.token-file: every user of this machine can read {}", file);
            }
            return Files.readString(file);
        } catch (IOException e) {
            String why = e instanceof NoSuchFileException ? "no such file" : "cannot be read";
            throw new BadSettingException("service.token-file: " + file + ": " + why, e);
        }
    }
}
