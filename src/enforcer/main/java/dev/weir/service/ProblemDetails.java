package dev.weir.service;

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
record ProblemDetails(
        Type type,
        int status,
        String detail,
        List<Fault> faults,
        OptionalLong currentVersion,
        Map<String, String> headers) {

    static final String CONTENT_TYPE = "application/problem+json";

    private static final int MAX_DETAIL = 500;
    private static final String RETRY_AFTER_SECONDS = "1";

    /** Makes the detail fit on one line: it may quote what the caller sent. */
    ProblemDetails {
        detail = SafeText.of(detail, MAX_DETAIL);
    }

    /** What kind of problem it is, beyond what its status says. */
    enum Type {
        BY_STATUS("about:blank", ""),
        INVALID("urn:weir:problem:invalid", "The definition is not valid"),
        REFUSED("urn:weir:problem:refused", "It does not go with what is in force"),
        CHANGED("urn:weir:problem:changed", "It is of another version than expected"),
        CONDITION_MISSING("urn:weir:problem:condition-missing", "It must be said which version is changed"),
        NOT_NOW("urn:weir:problem:not-now", "It can be asked again in a moment");

        private final String uri;
        private final String title;

        Type(String uri, String title) {
            this.uri = uri;
            this.title = title;
        }
    }

    /** One that its status explains. */
    static ProblemDetails of(int status, String detail) {
        return of(status, detail, Map.of());
    }

    static ProblemDetails of(int status, String detail, Map<String, String> headers) {
        return new ProblemDetails(Type.BY_STATUS, status, detail, List.of(), OptionalLong.empty(), headers);
    }

    static ProblemDetails invalid(List<Fault> faults) {
        String detail = faults.size() == 1 ? "it has 1 fault" : "it has " + faults.size() + " faults";
        return new ProblemDetails(Type.INVALID, 422, detail, faults, OptionalLong.empty(), Map.of());
    }

    static ProblemDetails refused(String why) {
        return new ProblemDetails(Type.REFUSED, 409, why, List.of(), OptionalLong.empty(), Map.of());
    }

    static ProblemDetails changed(OptionalLong currentVersion) {
        String detail = "nothing was changed: "
                + (currentVersion.isPresent() ? "it is of version " + currentVersion.getAsLong() : "there is none");
        return ofVersion(Type.CHANGED, 412, detail, currentVersion);
    }

    static ProblemDetails conditionMissing(OptionalLong currentVersion) {
        String detail = "nothing was changed: it exists, so If-Match must say which version is meant, or * for any";
        return ofVersion(Type.CONDITION_MISSING, 428, detail, currentVersion);
    }

    static ProblemDetails notNow(String why) {
        Map<String, String> headers = Map.of("Retry-After", RETRY_AFTER_SECONDS);
        return new ProblemDetails(Type.NOT_NOW, 503, why, List.of(), OptionalLong.empty(), headers);
    }

    private static ProblemDetails ofVersion(Type type, int status, String detail, OptionalLong currentVersion) {
        Map<String, String> headers = currentVersion.isPresent()
                ? Map.of("ETag", VersionPrecondition.tag(currentVersion.getAsLong()))
                : Map.of();
        return new ProblemDetails(type, status, detail, List.of(), currentVersion, headers);
    }

    /** Whether what was to be changed does not exist, though the caller says which version it has. */
    boolean tellsThereIsNone() {
        return type == Type.CHANGED && currentVersion.isEmpty();
    }

    Found found() {
        return new Found(this);
    }

    byte[] json() {
        ObjectNode json = Json.MAPPER.createObjectNode();
        json.put("type", type.uri);
        json.put("title", type == Type.BY_STATUS ? HttpStatus.forStatus(status).getMessage() : type.title);
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
    static final class Found extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final transient ProblemDetails problem;

        Found(ProblemDetails problem) {
            super(problem.detail(), null, false, false);
            this.problem = problem;
        }

        ProblemDetails problem() {
            return problem;
        }
    }
}
