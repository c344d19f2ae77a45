package dev.weir.service.http;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.fault.Fault;
import dev.weir.fault.SafeText;
import dev.weir.wire.Json;
import io.javalin.http.HttpStatus;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Why a request was not done, as RFC 9457 writes it.
 *
 * @param detail for people; holds nothing of the inside
 * @param faults what is wrong with a definition, empty if it is not about one
 * @param currentVersion what is in force of that which was to be changed, if that is what hinders it
 * @param headers what goes with the answer
 */
public record ProblemDetails(
        Type type,
        int status,
        String detail,
        List<Fault> faults,
        OptionalLong currentVersion,
        Map<String, String> headers) {

    public static final String CONTENT_TYPE = "application/problem+json";

    private static final int MAX_DETAIL = 500;
    private static final String RETRY_AFTER_SECONDS = "1";

    /** Makes the detail fit on one line: it may quote what the caller sent. */
    public ProblemDetails {
        detail = SafeText.of(detail, MAX_DETAIL);
    }

    /** What kind of problem it is, beyond what its status says. */
    enum Type {
        STATUS_ONLY("about:blank", ""),
        INVALID("urn:weir:problem:invalid", "The definition is not valid"),
        CONFLICT("urn:weir:problem:refused", "It does not go with what is in force"),
        VERSION_MISMATCH("urn:weir:problem:changed", "It is of another version than expected"),
        PRECONDITION_REQUIRED("urn:weir:problem:condition-missing", "It must be said which version is changed"),
        UNAVAILABLE("urn:weir:problem:not-now", "It can be asked again in a moment");

        private final String uri;
        private final String title;

        Type(String uri, String title) {
            this.uri = uri;
            this.title = title;
        }
    }

    /** One that its status explains. */
    public static ProblemDetails of(int status, String detail) {
        return of(status, detail, Map.of());
    }

    public static ProblemDetails of(int status, String detail, Map<String, String> headers) {
        return new ProblemDetails(Type.STATUS_ONLY, status, detail, List.of(), OptionalLong.empty(), headers);
    }

    public static ProblemDetails invalid(List<Fault> faults) {
        String detail = faults.size() == 1 ? "it has 1 fault" : "it has " + faults.size() + " faults";
        return new ProblemDetails(Type.INVALID, 422, detail, faults, OptionalLong.empty(), Map.of());
    }

    public static ProblemDetails conflict(String why) {
        return new ProblemDetails(Type.CONFLICT, 409, why, List.of(), OptionalLong.empty(), Map.of());
    }

    public static ProblemDetails versionMismatch(OptionalLong currentVersion) {
        String detail = "nothing was changed: "
                + (currentVersion.isPresent() ? "it is of version " + currentVersion.getAsLong() : "there is none");
        return ofVersion(Type.VERSION_MISMATCH, 412, detail, currentVersion);
    }

    public static ProblemDetails preconditionRequired(OptionalLong currentVersion) {
        String detail = "nothing was changed: it exists, so If-Match must say which version is meant, or * for any";
        return ofVersion(Type.PRECONDITION_REQUIRED, 428, detail, currentVersion);
    }

    public static ProblemDetails unavailable(String why) {
        Map<String, String> headers = Map.of("Retry-After", RETRY_AFTER_SECONDS);
        return new ProblemDetails(Type.UNAVAILABLE, 503, why, List.of(), OptionalLong.empty(), headers);
    }

    private static ProblemDetails ofVersion(Type type, int status, String detail, OptionalLong currentVersion) {
        Map<String, String> headers = currentVersion.isPresent()
                ? Map.of("ETag", VersionPrecondition.tag(currentVersion.getAsLong()))
                : Map.of();
        return new ProblemDetails(type, status, detail, List.of(), currentVersion, headers);
    }

    /** Whether what was to be changed does not exist, though the caller says which version it has. */
    public boolean isTargetAbsent() {
        return type == Type.VERSION_MISMATCH && currentVersion.isEmpty();
    }

    public ProblemException exception() {
        return new ProblemException(this);
    }

    byte[] json() {
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
        return BodyFormat.JSON.write(json);
    }

    /** Ends the handling of a request. */
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
