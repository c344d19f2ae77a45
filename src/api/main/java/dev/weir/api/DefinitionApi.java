package dev.weir.api;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.PolicyTopic.Effect;
import dev.weir.server.http.AccessControl;
import dev.weir.server.http.BodyFormat;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.QueryParameters;
import dev.weir.server.http.RequestBody;
import dev.weir.server.http.ResponseWriter;
import dev.weir.server.http.VersionPrecondition;
import dev.weir.wire.PolicyAvro.Applied;
import dev.weir.wire.PolicyAvro.Kind;
import io.javalin.http.Context;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;

/** The endpoints that read and change policies, or queues. */
final class DefinitionApi {

    static final int DEFAULT_PAGE = 1_000;
    static final int MAX_PAGE = 10_000;

    private final Kind kind;
    private final String plural;
    private final Supplier<RuleService> rules;

    /** @param plural the name in the path: {@code policies} or {@code queues} */
    DefinitionApi(Kind kind, String plural, Supplier<RuleService> rules) {
        this.kind = kind;
        this.plural = plural;
        this.rules = rules;
    }

    /** Lists the definitions in force, sorted by id, one page per request. */
    void list(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        Page page = Page.of(request);
        SortedMap<String, ObjectNode> all = new TreeMap<>();
        rules.get().applied(kind).stream()
                .filter(page::mayHave)
                .limit(page.limit + 1L)
                .forEach(one -> all.put(one.id(), JsonViews.applied(one)));
        ResponseWriter.write(request, format, 200, page.json(plural, all));
    }

    /** A page of a list that is sorted by id: the first {@code limit} entries whose ids sort after a text. */
    record Page(String after, int limit) {

        static Page of(Context request) {
            QueryParameters parameters = QueryParameters.of(request, "after", "limit");
            return new Page(
                    parameters.text("after").orElse(""),
                    parameters.number("limit", 1, MAX_PAGE).orElse(DEFAULT_PAGE));
        }

        boolean mayHave(Applied one) {
            return one.id().compareTo(after) > 0;
        }

        /** @param sorted at least the entries of this page and the one after it */
        ObjectNode json(String plural, SortedMap<String, ObjectNode> sorted) {
            ObjectNode page = JsonViews.object();
            ArrayNode list = page.putArray(plural);
            Iterator<Map.Entry<String, ObjectNode>> following =
                    sorted.tailMap(after + '\0').entrySet().iterator();
            String last = null;
            while (following.hasNext() && list.size() < limit) {
                Map.Entry<String, ObjectNode> one = following.next();
                list.add(one.getValue());
                last = one.getKey();
            }
            page.put("next", following.hasNext() ? last : null);
            return page;
        }
    }

    void get(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        QueryParameters.requireNone(request);
        Applied applied = rules.get().applied(kind, request.pathParam("id")).orElseThrow(() -> missing(request));
        String tag = VersionPrecondition.tag(applied.version());
        request.header("ETag", tag);
        String known = request.header("If-None-Match");
        if (known != null
                && Arrays.stream(known.split(",", -1)).map(String::strip).anyMatch(tag::equals)) {
            request.status(304);
        } else {
            ResponseWriter.write(request, format, 200, JsonViews.applied(applied));
        }
    }

    void put(Context request) throws FaultsException {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        BodyFormat.ofContentType(request);
        QueryParameters.requireNone(request);
        VersionPrecondition condition = VersionPrecondition.of(request);
        String id = request.pathParam("id");
        PolicyFile.Contents contents =
                PolicyFile.readOne(kind, id, "body", RequestBody.text(request), rules.get()::queues);
        Change change = rules.get().apply(contents, condition, AccessControl.changedBy(request));
        request.header("ETag", VersionPrecondition.tag(change.version()));
        if (change.effect() == Effect.ADDED) {
            request.header("Location", request.req().getRequestURI());
        }
        ResponseWriter.write(request, format, change.effect() == Effect.ADDED ? 201 : 200, JsonViews.change(change));
    }

    void delete(Context request) {
        QueryParameters.requireNone(request);
        VersionPrecondition condition = VersionPrecondition.of(request);
        if (!rules.get().delete(kind, request.pathParam("id"), condition, AccessControl.changedBy(request))) {
            throw missing(request);
        }
        request.status(204);
    }

    /** Lists the versions in the history, newest first, including deletions. */
    void history(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        QueryParameters.requireNone(request);
        String id = request.pathParam("id");
        List<Applied> versions = rules.get().history(kind, id);
        if (versions.isEmpty()) {
            throw missing(request);
        }
        ObjectNode json = JsonViews.object().put("id", id);
        ArrayNode list = json.putArray("versions");
        versions.forEach(one -> list.add(JsonViews.applied(one)));
        ResponseWriter.write(request, format, 200, json);
    }

    private ProblemDetails.ProblemException missing(Context request) {
        return ProblemDetails.of(404, "there is no " + kind.word() + " '" + request.pathParam("id") + "'")
                .exception();
    }
}
