package dev.weir.server.http;

import io.javalin.http.Context;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The version that a change requires to be in force, from {@code If-Match} and {@code If-None-Match} (RFC 9110,
 * section 13.1).
 */
public sealed interface VersionPrecondition {

    /** No header: nothing may be in force. Otherwise, the caller must send {@code If-Match}. */
    record Unspecified() implements VersionPrecondition {}

    /** {@code If-None-Match: *}: nothing may be in force. */
    record MustNotExist() implements VersionPrecondition {}

    /** {@code If-Match: *}: any version must be in force. */
    record MustExist() implements VersionPrecondition {}

    /** {@code If-Match: "3"}: this version must be in force. */
    record Version(long version) implements VersionPrecondition {}

    /** A tag that no version has, such as {@code If-Match: "abc"} or a weak one. */
    record UnknownTag() implements VersionPrecondition {}

    Pattern TAG = Pattern.compile("(W/)?\"([^\"]*)\"");
    Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");

    /** Returns the {@code ETag} of a version. */
    static String tag(long version) {
        return "\"" + version + "\"";
    }

    /** @throws ProblemDetails.ProblemException with 400 if the headers are invalid or contradict each other */
    static VersionPrecondition of(Context request) {
        String match = request.header("If-Match");
        String noneMatch = request.header("If-None-Match");
        if (match != null && noneMatch != null) {
            throw ProblemDetails.of(400, "send either If-Match or If-None-Match, not both")
                    .exception();
        }
        if (noneMatch != null) {
            if (!noneMatch.strip().equals("*")) {
                throw ProblemDetails.of(400, "If-None-Match must be * for a change")
                        .exception();
            }
            return new MustNotExist();
        }
        return match == null ? new Unspecified() : ofMatch(match.strip());
    }

    private static VersionPrecondition ofMatch(String match) {
        if (match.equals("*")) {
            return new MustExist();
        }
        Matcher tag = TAG.matcher(match);
        if (!tag.matches()) {
            throw ProblemDetails.of(400, "If-Match must be * or one version in double quotes, such as \"3\"")
                    .exception();
        }
        boolean isVersion =
                tag.group(1) == null && VERSION.matcher(tag.group(2)).matches();
        return isVersion ? new Version(Long.parseLong(tag.group(2))) : new UnknownTag();
    }
}
