package dev.weir.service.http;

import io.javalin.http.Context;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Which version a change is meant for, as {@code If-Match} and {@code If-None-Match} say it (RFC 9110, 13.1). */
public sealed interface VersionPrecondition {

    /** Nothing: there must be none yet, and if there is one, the caller must say which. */
    record Unspecified() implements VersionPrecondition {}

    /** There must be none: {@code If-None-Match: *}. */
    record MustNotExist() implements VersionPrecondition {}

    /** There must be one: {@code If-Match: *}. */
    record MustExist() implements VersionPrecondition {}

    /** This one: {@code If-Match: "3"}. */
    record Version(long version) implements VersionPrecondition {}

    /** A tag that is that of no version: {@code If-Match: "abc"}, or a weak one. */
    record UnknownTag() implements VersionPrecondition {}

    Pattern TAG = Pattern.compile("(W/)?\"([^\"]*)\"");
    Pattern VERSION = Pattern.compile("[1-9][0-9]{0,17}");

    /** The tag of a version. */
    static String tag(long version) {
        return "\"" + version + "\"";
    }

    /** @throws ProblemDetails.ProblemException if the headers say nothing clear, 400 */
    static VersionPrecondition of(Context request) {
        String match = request.header("If-Match");
        String noneMatch = request.header("If-None-Match");
        if (match != null && noneMatch != null) {
            throw ProblemDetails.of(400, "either If-Match or If-None-Match, not both")
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
