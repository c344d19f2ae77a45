package dev.weir.server.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.fault.Fault;
import dev.weir.fault.SafeText;
import dev.weir.wire.json.Json;
import io.javalin.http.HttpStatus;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * The problem details of a failed request (RFC 9457).
 *
 * @param detail a description for people, without internals
 * @param faults the faults of a definition; empty if the problem is another one
 * @param currentVersion the version in force, if it conflicts with the precondition of a change
 * @param missing what an instance that is not ready waits for; empty if the problem is another one
 * @param headers additional headers of the response
 */
public record ProblemDetails(
        Type type,
        int status,
        String detail,
        List<Fault> faults,
        OptionalLong currentVersion,
        List<String> missing,
        Map<String, String> headers) {

    public static final String CONTENT_TYPE = "application/problem+json";

    private static final int MAX_DETAIL = 500;
    private static final String RETRY_AFTER_SECONDS = "1";

    /** Makes the detail fit on one line, because it may quote what the caller sent. */
    public ProblemDetails {
        detail = SafeText.of(detail, MAX_DETAIL);
    }

    /** The type of problem. {@link #STATUS_ONLY} adds nothing to the status. */
    enum Type {
        STATUS_ONLY("about:blank", ""),
        INVALID("urn:weir:problem:invalid", "The definition is invalid"),
        CONFLICT("urn:weir:problem:conflict", "The change conflicts with the definitions in force"),
        VERSION_MISMATCH("urn:weir:problem:version-mismatch", "The version in force is not the expected one"),
        PRECONDITION_REQUIRED(
                "urn:weir:problem:precondition-required",
                "If-Match is required: send the version that you are changing"),
        UNAVAILABLE("urn:weir:problem:unavailable", "The request cannot be served now; try again");

        private final String uri;
        private final String title;

        Type(String uri, String title) {
            this.uri = uri;
            this.title = title;
        }
    }

    /** Returns a problem that its status explains. */
    public static ProblemDetails of(int status, String detail) {
        return of(status, detail, Map.of());
    }

    public static ProblemDetails of(int status, String detail, Map<String, String> headers) {
        return new ProblemDetails(
                Type.STATUS_ONLY, status, detail, List.of(), OptionalLong.empty(), List.of(), headers);
    }

    public static ProblemDetails invalid(List<Fault> faults) {
        String detail = "the definition has " + (faults.size() == 1 ? "1 fault" : faults.size() + " faults");
        return new ProblemDetails(Type.INVALID, 422, detail, faults, OptionalLong.empty(), List.of(), Map.of());
    }

    public static ProblemDetails conflict(String why) {
        return new ProblemDetails(Type.CONFLICT, 409, why, List.of(), OptionalLong.empty(), List.of(), Map.of());
    }

    public static ProblemDetails versionMismatch(OptionalLong currentVersion) {
        String detail = "nothing was changed: "
                + (currentVersion.isPresent()
                        ? "version " + currentVersion.getAsLong() + " is in force"
                        : "there is no such policy or queue");
        return ofVersion(Type.VERSION_MISMATCH, 412, detail, currentVersion);
    }

    public static ProblemDetails preconditionRequired(OptionalLong currentVersion) {
        String detail = "nothing was changed: it exists; send If-Match with its version, or * for any version";
        return ofVersion(Type.PRECONDITION_REQUIRED, 428, detail, currentVersion);
    }

    public static ProblemDetails unavailable(String why) {
        return unavailable(why, List.of());
    }

    /** @param missing what is missing until requests can be served */
    public static ProblemDetails unavailable(String why, List<String> missing) {
        Map<String, String> headers = Map.of("Retry-After", RETRY_AFTER_SECONDS);
        return new ProblemDetails(
                Type.UNAVAILABLE, 503, why, List.of(), OptionalLong.empty(), List.copyOf(missing), headers);
    }

    private static ProblemDetails ofVersion(Type type, int status, String detail, OptionalLong currentVersion) {
        Map<String, String> headers = currentVersion.isPresent()
                ? Map.of("ETag", VersionPrecondition.tag(currentVersion.getAsLong()))
                : Map.of();
        return new ProblemDetails(type, status, detail, List.of(), currentVersion, List.of(), headers);
    }

    /** Returns whether the policy or queue to be changed does not exist, although the precondition names a version. */
    public boolean isTargetAbsent() {
        return type == Type.VERSION_MISMATCH && currentVersion.isEmpty();
    }

    public ProblemException exception() {
        return new ProblemException(this);
    }

    /** Returns the body of the response. */
    public byte[] json() {
        ObjectNode json = Json.MAPPER.createObjectNode();
        json.put("type", type.uri);
        json.put(
                "title", type == Type.STATUS_ONLY ? HttpStatus.forStatus(status).getMessage() : type.title);
        json.put("status", status);
        json.put("detail", detail);
        if (!faults.isEmpty()) {
            var list = json.putArray("faults");
            for (Fault fault : faults) {
                list.addObject()
                        .put("line", fault.line())
                        .put("path", fault.path())
                        .put("message", fault.message());
            }
        }
        currentVersion.ifPresent(version -> json.put("currentVersion", version));
        if (!missing.isEmpty()) {
            missing.forEach(json.putArray("missing")::add);
        }
        return BodyFormat.JSON.write(json);
    }

    /** Ends the processing of a request with a problem response. */
    public static final class ProblemException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final transient ProblemDetails problem;

        ProblemException(ProblemDetails problem) {
            super(problem.detail(), null, false, false);
            this.problem = problem;
        }

        public ProblemDetails problem() {
            return problem;
        }
    }
}
