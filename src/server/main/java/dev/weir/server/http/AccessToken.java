package dev.weir.server.http;

import dev.weir.config.BadSettingException;
import dev.weir.config.WeirConfig.Service;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A bearer token. {@link #toString} does not reveal it. */
public final class AccessToken {

    static final int MIN_LENGTH = 16;

    private static final Logger LOG = LoggerFactory.getLogger(AccessToken.class);

    private static final int MAX_FILE_BYTES = 4096;
    private static final String BEARER = "bearer ";

    private static final Pattern NAMED = Pattern.compile("([A-Za-z0-9._@-]{1,64})\\s+(\\S+)");

    /** What may follow {@code Bearer} (RFC 6750, section 2.1). */
    private static final Pattern SYNTAX = Pattern.compile("[A-Za-z0-9._~+/-]+=*");

    private final String name;
    private final String text;

    private AccessToken(String name, String text) {
        this.name = name;
        this.text = text;
    }

    /**
     * Reads the tokens of a file, one per line, each optionally preceded by a name. Lines that begin with #
     * are comments.
     *
     * @throws BadSettingException if the file cannot be read, or has no token or an invalid one
     */
    static List<AccessToken> ofFile(Path file) {
        String source = "service.token-file: " + file;
        List<String> lines = content(file).lines().map(String::strip).toList();
        List<AccessToken> tokens = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            if (!lines.get(i).isEmpty() && !lines.get(i).startsWith("#")) {
                tokens.add(ofLine(source, lines.size() == 1 ? "this one" : "the one on line " + (i + 1), lines.get(i)));
            }
        }
        if (tokens.isEmpty()) {
            throw new BadSettingException(source + ": a token is missing", null);
        }
        return tokens;
    }

    private static AccessToken ofLine(String source, String which, String line) {
        Matcher named = NAMED.matcher(line.strip());
        return named.matches() ? of(source, which, named.group(1), named.group(2)) : of(source, which, "", line);
    }

    /**
     * Returns the token of the environment variable {@code WEIR_TOKEN}; empty if it is not set.
     *
     * @throws BadSettingException if it is not a valid token
     */
    public static Optional<AccessToken> fromEnvironment(Map<String, String> environment) {
        return fromVariable(Service.TOKEN_VARIABLE, environment);
    }

    /**
     * Returns the token of an environment variable; empty if it is not set.
     *
     * @throws BadSettingException if it is not a valid token
     */
    static Optional<AccessToken> fromVariable(String variable, Map<String, String> environment) {
        return Optional.ofNullable(environment.get(variable))
                .map(text -> of("the environment variable " + variable, "this one", "", text));
    }

    /** Returns the name of the token; empty if the file has none. */
    String name() {
        return name;
    }

    /** Returns the {@code Authorization} header with this token. */
    public String authorization() {
        return "Bearer " + text;
    }

    /**
     * Returns whether an {@code Authorization} header has this token. The time does not depend on where the
     * tokens differ.
     */
    boolean matches(String authorization) {
        boolean bearer = authorization.regionMatches(true, 0, BEARER, 0, BEARER.length());
        String shown = bearer ? authorization.substring(BEARER.length()).strip() : "";
        return MessageDigest.isEqual(shown.getBytes(StandardCharsets.UTF_8), text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public String toString() {
        return "<hidden>";
    }

    private static AccessToken of(String source, String which, String name, String written) {
        String text = written.strip();
        if (text.length() < MIN_LENGTH) {
            throw new BadSettingException(
                    source + ": a token must have at least " + MIN_LENGTH + " characters, but " + which + " has "
                            + text.length(),
                    null);
        }
        if (!SYNTAX.matcher(text).matches()) {
            throw new BadSettingException(
                    source + ": a token may contain only letters, digits and . _ ~ + / -, and end with =, but " + which
                            + " has other characters",
                    null);
        }
        return new AccessToken(name, text);
    }

    /**
     * Returns whether every user of this machine can read a file. Returns false if the file system has no
     * POSIX permissions.
     */
    static boolean isWorldReadable(Path file) throws IOException {
        PosixFileAttributeView posix = Files.getFileAttributeView(file, PosixFileAttributeView.class);
        return posix != null && posix.readAttributes().permissions().contains(PosixFilePermission.OTHERS_READ);
    }

    private static String content(Path file) {
        try {
            if (Files.size(file) > MAX_FILE_BYTES) {
                throw new BadSettingException(
                        "service.token-file: " + file + ": is larger than " + MAX_FILE_BYTES + " bytes", null);
            }
            if (isWorldReadable(file)) {
                LOG.warn("service.token-file: every user of this machine can read {}; restrict its permissions", file);
            }
            return Files.readString(file);
        } catch (IOException e) {
            String why = e instanceof NoSuchFileException ? "no such file" : "cannot be read";
            throw new BadSettingException("service.token-file: " + file + ": " + why, e);
        }
    }
}
