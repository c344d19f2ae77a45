package dev.weir.service;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.app.Questions;
import dev.weir.app.Questions.Answer;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.PolicyAvro.Applied;
import dev.weir.codec.RequestJson;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Kind;
import dev.weir.policy.Request;
import dev.weir.policy.RequestRules;
import dev.weir.service.QueueParts.Whole;
import dev.weir.shape.QueueView;
import io.javalin.http.Context;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** What can be asked about clients and queues; who does not have the answer asks the instance that has. */
final class Asking {

    private static final String ATTRIBUTE = "attribute.";
    private static final String MOST = "most";
    private static final int DEFAULT_DECISIONS = 50;
    private static final int MAX_DECISIONS = 1_000;

    /** Names a request that its caller did not name. */
    private static final String UNNAMED = "check";

    private static final String KEY = "key.";
    private static final Request.Source NOWHERE = new Request.Source(0, 0);

    private final RequestRules rules;
    private final Supplier<Instance> instance;
    private final Peers peers;
    private final QueueParts parts;

    Asking(WeirConfig config, Supplier<Instance> instance, Peers peers) {
        this.rules = config.requests().rules();
        this.instance = instance;
        this.peers = peers;
        parts = new QueueParts(peers);
    }

    /** What a client has used. */
    void usage(Context request) {
        Format format = Format.accepted(request);
        Parameters parameters = Parameters.ofPrefix(request, ATTRIBUTE, "tier");
        String client = request.pathParam("client");
        long nowMs = System.currentTimeMillis();
        Request question = new Request(
                UNNAMED,
                client,
                Kind.PEEK,
                parameters.text("tier").orElse(null),
                0,
                null,
                parameters.withPrefix(ATTRIBUTE),
                null,
                null,
                null,
                nowMs,
                NOWHERE);
        requireRules(question);
        Questions questions = instance.get().questions();
        answer(
                request,
                "",
                questions.usage(question),
                usage -> Answers.write(request, format, 200, Views.usage(client, nowMs, usage)));
    }

    /** What all clients have used of a shared policy, and who holds what of it. */
    void shared(Context request) {
        Format format = Format.accepted(request);
        Parameters parameters = Parameters.ofPrefix(request, KEY);
        String id = request.pathParam("id");
        long nowMs = System.currentTimeMillis();
        answer(request, "", instance.get().questions().shared(id, parameters.withPrefix(KEY)), shared -> {
            if (shared == null) {
                throw Problem.of(404, "there is no policy '" + id + "' that is shared")
                        .found();
            }
            Answers.write(request, format, 200, Views.shared(nowMs, shared));
        });
    }

    /** What was decided of a client lately. */
    void decisions(Context request) {
        Format format = Format.accepted(request);
        int most = Parameters.of(request, MOST).number(MOST, 1, MAX_DECISIONS).orElse(DEFAULT_DECISIONS);
        String client = request.pathParam("client");
        Answers.write(
                request,
                format,
                200,
                Views.decisions(client, instance.get().rules().decisions(client, most)));
    }

    /** How a request would be decided. */
    void check(Context request) {
        Format format = Format.accepted(request);
        Format sent = Format.sent(request);
        Parameters.none(request);
        String body = Body.text(request);
        Request question = read(sent, body);
        requireRules(question);
        Questions questions = instance.get().questions();
        answer(
                request,
                body,
                questions.check(question),
                decision -> Answers.write(request, format, 200, Views.decision(decision)));
    }

    /** A queue's definition, and how it is: all of it, or the part of this instance if another one asks. */
    void queue(Context request) {
        Format format = Format.accepted(request);
        Parameters.none(request);
        String id = request.pathParam("id");
        Instance here = instance.get();
        Optional<Applied> applied = here.rules().applied(PolicyAvro.Kind.QUEUE, id);
        Answer<QueueView> answer = here.questions().queue(id);
        if (!(answer instanceof Answer.Part<QueueView> part)) {
            answer(request, "", answer, queue -> writeQueue(request, format, applied, new Whole(queue, Set.of())));
        } else if (Peers.isForwarded(request)) {
            Answers.write(request, format, 200, QueueParts.json(part.value()));
        } else {
            request.future(
                    () -> parts.gather(id, part).thenAccept(whole -> writeQueue(request, format, applied, whole)));
        }
    }

    private static void writeQueue(Context request, Format format, Optional<Applied> applied, Whole whole) {
        QueueView queue = whole.view();
        boolean drains = queue != null && queue.waiting() > 0;
        if (applied.isEmpty() && !drains) {
            throw noQueue(request, whole.missing());
        }
        ObjectNode json = applied.map(Views::applied).orElseGet(() -> Views.deleted(queue.rules()));
        request.header("ETag", Condition.tag(json.get("version").longValue()));
        json.set("state", queue == null ? null : Views.queueState(queue));
        ArrayNode missing = json.putArray("missing");
        whole.missing().forEach(missing::add);
        Answers.write(request, format, 200, json);
    }

    /** One key of a queue with key fields. */
    void key(Context request) {
        Format format = Format.accepted(request);
        Parameters.none(request);
        String id = request.pathParam("id");
        Map<String, String> key = QueueKey.read(request);
        answer(request, "", instance.get().questions().key(id, key), bucket -> {
            if (bucket == null) {
                throw noQueue(request, Set.of());
            }
            QueueKey.requireFields(key, bucket.rules());
            Answers.write(request, format, 200, Views.key(bucket, key));
        });
    }

    private static Problem.Found noQueue(Context request, Set<String> missing) {
        String but = missing.isEmpty() ? "" : ", unless one of these instances has it, which did not answer: ";
        return Problem.of(404, "there is no queue '" + request.pathParam("id") + "'" + but + String.join(", ", missing))
                .found();
    }

    private <T> void answer(Context request, String body, Answer<T> answer, Consumer<T> here) {
        if (answer instanceof Answer.Here<T> found) {
            here.accept(found.value());
        } else if (answer instanceof Answer.Elsewhere<T> elsewhere) {
            request.future(() -> peers.ask(elsewhere.address(), request, body));
        } else if (answer instanceof Answer.NotNow<T> notNow) {
            throw Problem.notNow(notNow.why()).found();
        }
    }

    private static Request read(Format sent, String body) {
        try {
            JsonNode tree = sent.read(body);
            if (tree instanceof ObjectNode fields && !fields.has("requestId")) {
                fields.put("requestId", UNNAMED);
            }
            return RequestJson.read(String.valueOf(tree), System.currentTimeMillis(), NOWHERE);
        } catch (JsonProcessingException e) {
            JsonLocation location = e.getLocation(); // null if something in it is too long or too deep
            String where = location == null ? "" : ": line " + location.getLineNr();
            String why = String.valueOf(e.getOriginalMessage()).startsWith("Duplicate")
                    ? "the body has a key twice"
                    : "the body is not " + sent;
            throw Problem.of(400, why + where).found();
        } catch (IllegalArgumentException e) {
            throw Problem.of(400, "the body " + e.getMessage()).found();
        }
    }

    private void requireRules(Request request) {
        Optional<RequestRules.Violation> violation = rules.check(request);
        if (violation.isPresent()) {
            throw Problem.of(400, violation.get().detail()).found();
        }
    }
}
