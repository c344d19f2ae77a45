package dev.weir.service;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.app.PolicyTopic.Change;
import dev.weir.app.PolicyTopic.Effect;
import dev.weir.codec.FaultsException;
import dev.weir.codec.PolicyAvro.Applied;
import dev.weir.codec.PolicyAvro.Kind;
import dev.weir.codec.PolicyFile;
import io.javalin.http.Context;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.function.Supplier;

/** The policies, or the queues: reading and changing them. */
final class Definitions {

    static final int DEFAULT_PAGE = 1_000;
    static final int MAX_PAGE = 10_000;

    private final Kind kind;
    private final String plural;
    private final Supplier<Rulebook> rules;

    /** @param plural as the path has it, {@code policies} or {@code queues} */
    Definitions(Kind kind, String plural, Supplier<Rulebook> rules) {
        this.kind = kind;
        this.plural = plural;
        this.rules = rules;
    }

    /** Those in force, by id, a page at a time. */
    void list(Context request) {
        Format format = Format.accepted(request);
        Parameters parameters = Parameters.of(request, "after", "limit");
        String after = parameters.text("after").orElse("");
        int limit = parameters.number("limit", 1, MAX_PAGE).orElse(DEFAULT_PAGE);
        ObjectNode page = Views.object();
        ArrayNode list = page.putArray(plural);
        Iterator<Applied> following = rules.get().applied(kind).stream()
                .filter(one -> one.id().compareTo(after) > 0)
                .iterator();
        String last = null;
        while (following.hasNext() && list.size() < limit) {
            Applied one = following.next();
            list.add(Views.applied(one));
            last = one.id();
        }
        page.put("next", following.hasNext() ? last : null);
        Answers.write(request, format, 200, page);
    }

    void get(Context request) {
        Format format = Format.accepted(request);
        Parameters.none(request);
        Applied applied = rules.get().applied(kind, request.pathParam("id")).orElseThrow(() -> missing(request));
        String tag = Condition.tag(applied.version());
        request.header("ETag", tag);
        String known = request.header("If-None-Match");
        if (known != null
                && Arrays.stream(known.split(",", -1)).map(String::strip).anyMatch(tag::equals)) {
            request.status(304);
        } else {
            Answers.write(request, format, 200, Views.applied(applied));
        }
    }

    void put(Context request) throws FaultsException {
        Format format = Format.accepted(request);
        Format.sent(request);
        Parameters.none(request);
        Condition condition = Condition.of(request);
        String id = request.pathParam("id");
        PolicyFile.Contents contents = PolicyFile.readOne(kind, id, "body", Body.text(request), rules.get()::queues);
        Change change = rules.get().apply(contents, condition, Access.changedBy(request));
        request.header("ETag", Condition.tag(change.version()));
        if (change.effect() == Effect.ADDED) {
            request.header("Location", request.req().getRequestURI());
        }
        Answers.write(request, format, change.effect() == Effect.ADDED ? 201 : 200, Views.change(change));
    }

    void delete(Context request) {
        Parameters.none(request);
        Condition condition = Condition.of(request);
        if (!rules.get().delete(kind, request.pathParam("id"), condition, Access.changedBy(request))) {
            throw missing(request);
        }
        request.status(204);
    }

    /** The versions that are still known, newest first. */
    void history(Context request) {
        Format format = Format.accepted(request);
        Parameters.none(request);
        String id = request.pathParam("id");
        List<Applied> versions = rules.get().history(kind, id);
        if (versions.isEmpty()) {
            throw missing(request);
        }
        ObjectNode json = Views.object().put("id", id);
        ArrayNode list = json.putArray("versions");
        versions.forEach(one -> list.add(Views.applied(one)));
        Answers.write(request, format, 200, json);
    }

    private Problem.Found missing(Context request) {
        return Problem.of(404, "there is no " + kind.word() + " '" + request.pathParam("id") + "'")
                .found();
    }
}
