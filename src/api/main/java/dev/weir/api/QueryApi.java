package dev.weir.api;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.api.QueueAggregator.MergedQueue;
import dev.weir.api.QueueAggregator.UnusualQueues;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.RequestRules;
import dev.weir.query.DecisionFilter;
import dev.weir.query.InstanceQueries;
import dev.weir.query.InstanceQueries.LedgerQuestion;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.server.http.BodyFormat;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.QueryParameters;
import dev.weir.server.http.RequestBody;
import dev.weir.server.http.ResponseWriter;
import dev.weir.server.http.VersionPrecondition;
import dev.weir.shape.command.OrdersView;
import dev.weir.shape.view.QueueView;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.PolicyAvro.Applied;
import dev.weir.wire.json.RequestJson;
import io.javalin.http.Context;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The endpoints that return the state of clients and queues. An instance that does not have the state forwards the
 * request to the one that has it.
 */
final class QueryApi {

    private static final String ATTRIBUTE = "attribute.";
    private static final String LIMIT_PARAMETER = "most";
    private static final int DEFAULT_DECISIONS = 50;
    private static final int MAX_DECISIONS = 1_000;
    private static final String AFTER = "after";
    private static final String PAGE_SIZE = "limit";
    private static final int DEFAULT_RESERVATIONS = 100;
    private static final int MAX_RESERVATIONS = 1_000;

    /** The id of requests that are sent without one. */
    private static final String DEFAULT_REQUEST_ID = "peek";

    private static final String KEY = "key.";
    private static final String RECENT = "recent";

    private final RequestRules rules;
    private final Supplier<ServedInstance> instance;
    private final PeerInstances peers;
    private final QueueAggregator parts;
    private final SharedQuestions ledgers;
    private final String address;

    /** @param address the address of this instance */
    QueryApi(WeirConfig config, Supplier<ServedInstance> instance, PeerInstances peers, String address) {
        this.address = address;
        this.rules = config.requests().rules();
        this.instance = instance;
        this.peers = peers;
        parts = new QueueAggregator(peers);
        ledgers = new SharedQuestions(peers);
    }

    /** Returns what a client has used. */
    void usage(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        QueryParameters parameters = QueryParameters.ofPrefix(request, ATTRIBUTE, "tier", RECENT);
        String client = request.pathParam("client");
        long nowMs = System.currentTimeMillis();
        Request question = Request.builder(DEFAULT_REQUEST_ID, client)
                .kind(RequestKind.PEEK)
                .tier(parameters.text("tier").orElse(null))
                .cost(0)
                .attributes(parameters.withPrefix(ATTRIBUTE))
                .timestampMs(nowMs)
                .build();
        RequestBody.requireValid(question, rules);
        ServedInstance here = instance.get();
        boolean isWithRecent = parameters.flag(RECENT);
        answer(
                request,
                "",
                here.queries()
                        .usage(question, () -> isWithRecent ? here.rules().recentRequests(client, nowMs) : List.of()),
                usage -> ResponseWriter.write(request, format, 200, JsonViews.usage(client, nowMs, usage)));
    }

    /** Returns a page of the open reservations of a client. */
    void reservations(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        QueryParameters parameters = QueryParameters.of(request, AFTER, PAGE_SIZE);
        int most = parameters.number(PAGE_SIZE, 1, MAX_RESERVATIONS).orElse(DEFAULT_RESERVATIONS);
        String client = request.pathParam("client");
        String after = parameters.text(AFTER).orElse("");
        long nowMs = System.currentTimeMillis();
        RequestBody.requireValid(
                Request.builder(after.isEmpty() ? DEFAULT_REQUEST_ID : after, client)
                        .kind(RequestKind.PEEK)
                        .timestampMs(nowMs)
                        .build(),
                rules);
        answer(
                request,
                "",
                instance.get().queries().reservations(client, after, most),
                page -> ResponseWriter.write(request, format, 200, JsonViews.reservations(client, nowMs, page)));
    }

    /** Returns what all clients have used of a shared policy, and its lease holders. */
    void sharedUsage(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        QueryParameters parameters =
                QueryParameters.ofPrefix(request, KEY, SharedQuestions.COST, SharedQuestions.HOLDER);
        String id = request.pathParam("id");
        LedgerQuestion question = new LedgerQuestion(
                id,
                parameters.withPrefix(KEY),
                SharedQuestions.cost(parameters),
                parameters.text(SharedQuestions.HOLDER).orElse(""));
        long nowMs = System.currentTimeMillis();
        answer(request, "", instance.get().queries().shared(question), shared -> {
            if (shared == null) {
                throw ProblemDetails.of(404, "there is no shared policy '" + id + "'")
                        .exception();
            }
            ResponseWriter.write(request, format, 200, JsonViews.sharedUsage(nowMs, shared));
        });
    }

    /** Returns the recent decisions on a client's requests that pass a filter. */
    void decisions(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        QueryParameters parameters =
                QueryParameters.of(request, LIMIT_PARAMETER, "outcome", "policy", "reason", "tier");
        int most = parameters.number(LIMIT_PARAMETER, 1, MAX_DECISIONS).orElse(DEFAULT_DECISIONS);
        DecisionFilter filter = new DecisionFilter(
                parameters.words("outcome", Outcome.class),
                parameters.text("policy").map(Set::of).orElse(Set.of()),
                parameters.words("reason", Reason.class),
                parameters.text("tier").map(Set::of).orElse(Set.of()));
        String client = request.pathParam("client");
        ResponseWriter.write(
                request,
                format,
                200,
                JsonViews.decisions(client, instance.get().rules().decisions(client, most, filter)));
    }

    /** Returns how a request would be decided. */
    void peek(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        BodyFormat sent = BodyFormat.ofContentType(request);
        QueryParameters.requireNone(request);
        String body = RequestBody.text(request);
        long nowMs = System.currentTimeMillis();
        Request question =
                RequestBody.request(sent, body, json -> RequestJson.read(json, () -> DEFAULT_REQUEST_ID, nowMs), rules);
        InstanceQueries queries = instance.get().queries();
        Consumer<Decision> write = decision -> ResponseWriter.write(request, format, 200, JsonViews.decision(decision));
        Result<Decision> answer = queries.check(question, Map.of());
        if (answer instanceof Result.Dependent<Decision> dependent) {
            request.future(() -> ledgers.ask(queries, dependent.questions()).thenAccept(answers -> {
                if (!(queries.check(question, answers) instanceof Result.Local<Decision> decided)) {
                    throw ProblemDetails.unavailable("partitions or policies are changing")
                            .exception();
                }
                write.accept(decided.value());
            }));
        } else {
            answer(request, body, answer, write);
        }
    }

    /**
     * Lists the queues in force and the deleted ones that drain on any instance, sorted by id, one page per request. To
     * another instance, returns only the parts of unusual queues on this one.
     */
    void queues(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        DefinitionApi.Page page = DefinitionApi.Page.of(request);
        ServedInstance here = instance.get();
        Result<SortedMap<String, QueueView>> unusual = here.queries().unusualQueues();
        boolean isForwarded = PeerInstances.isForwarded(request);
        if (unusual instanceof Result.Partial<SortedMap<String, QueueView>> part) {
            if (isForwarded) {
                ResponseWriter.write(request, format, 200, QueueAggregator.json(part.value()));
            } else {
                request.future(() ->
                        parts.gatherUnusual(part).thenAccept(all -> writeQueues(request, format, page, here, all)));
            }
        } else if (isForwarded) {
            throw ProblemDetails.unavailable("a partition of the queues is moving or too busy")
                    .exception();
        } else {
            UnusualQueues unknown = new UnusualQueues(new TreeMap<>(), Set.of(address));
            writeQueues(request, format, page, here, unknown);
        }
    }

    private static void writeQueues(
            Context request, BodyFormat format, DefinitionApi.Page page, ServedInstance here, UnusualQueues unusual) {
        SortedMap<String, ObjectNode> all = new TreeMap<>();
        unusual.views().forEach((id, view) -> {
            if (view.waiting() > 0) {
                all.put(id, JsonViews.deleted(view.rules()).put("deleted", true));
            }
        });
        here.rules().applied(PolicyAvro.Kind.QUEUE).stream()
                .filter(page::mayHave)
                .limit(page.limit() + 1L)
                .forEach(one -> all.put(one.id(), JsonViews.applied(one).put("deleted", false)));
        all.forEach((id, json) -> JsonViews.orders(
                json, unusual.views().containsKey(id) ? unusual.views().get(id).orders() : OrdersView.NONE));
        ObjectNode json = page.json("queues", all);
        ArrayNode missing = json.putArray("missing");
        unusual.missing().forEach(missing::add);
        ResponseWriter.write(request, format, 200, json);
    }

    /**
     * Returns a queue's definition and its state: the state on all instances, or only that on this one if another
     * instance forwarded the request.
     */
    void queue(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        QueryParameters.requireNone(request);
        String id = request.pathParam("id");
        ServedInstance here = instance.get();
        Optional<Applied> applied = here.rules().applied(PolicyAvro.Kind.QUEUE, id);
        Result<QueueView> answer = here.queries().queue(id);
        if (!(answer instanceof Result.Partial<QueueView> part)) {
            answer(
                    request,
                    "",
                    answer,
                    queue -> writeQueue(request, format, applied, new MergedQueue(queue, Set.of())));
        } else if (PeerInstances.isForwarded(request)) {
            ResponseWriter.write(request, format, 200, QueueAggregator.json(part.value()));
        } else {
            request.future(
                    () -> parts.gather(id, part).thenAccept(whole -> writeQueue(request, format, applied, whole)));
        }
    }

    private static void writeQueue(Context request, BodyFormat format, Optional<Applied> applied, MergedQueue whole) {
        QueueView queue = whole.view();
        boolean drains = queue != null && queue.waiting() > 0;
        if (applied.isEmpty() && !drains) {
            throw noQueue(request, whole.missing());
        }
        ObjectNode json = applied.map(JsonViews::applied).orElseGet(() -> JsonViews.deleted(queue.rules()));
        request.header("ETag", VersionPrecondition.tag(json.get("version").longValue()));
        json.set("state", queue == null ? null : JsonViews.queueState(queue));
        ArrayNode missing = json.putArray("missing");
        whole.missing().forEach(missing::add);
        ResponseWriter.write(request, format, 200, json);
    }

    /** Returns the state of one key of a queue with key fields. */
    void key(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        QueryParameters.requireNone(request);
        String id = request.pathParam("id");
        Map<String, String> key = QueueKeyPath.read(request);
        answer(request, "", instance.get().queries().key(id, key), bucket -> {
            if (bucket == null) {
                throw noQueue(request, Set.of());
            }
            QueueKeyPath.requireFields(key, bucket.rules());
            ResponseWriter.write(request, format, 200, JsonViews.key(bucket, key));
        });
    }

    private static ProblemDetails.ProblemException noQueue(Context request, Set<String> missing) {
        String but = missing.isEmpty() ? "" : " on the instances that responded; these did not respond: ";
        return ProblemDetails.of(
                        404, "there is no queue '" + request.pathParam("id") + "'" + but + String.join(", ", missing))
                .exception();
    }

    private <T> void answer(Context request, String body, Result<T> answer, Consumer<T> here) {
        if (answer instanceof Result.Local<T> found) {
            here.accept(found.value());
        } else if (answer instanceof Result.Remote<T> elsewhere) {
            request.future(() -> peers.forward(elsewhere.address(), request, body));
        } else if (answer instanceof Result.NotReady<T> notNow) {
            throw ProblemDetails.unavailable(notNow.reason()).exception();
        }
    }
}
