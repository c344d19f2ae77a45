package dev.weir.api;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.rules.QueueCommands;
import dev.weir.server.http.AccessControl;
import dev.weir.server.http.BodyFormat;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.QueryParameters;
import dev.weir.server.http.RequestBody;
import dev.weir.server.http.ResponseWriter;
import dev.weir.shape.command.OrdersView;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.view.QueueView;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.PolicyAvro.Kind;
import io.javalin.http.Context;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The endpoints that send commands to queues, and list past ones. */
final class QueueCommandApi {

    private static final String TIMEOUT_PARAMETER = "timeoutMs";
    private static final int DEFAULT_TIMEOUT_MS = 10_000;
    private static final int MAX_TIMEOUT_MS = 20_000;
    private static final String ACTION = "action";
    private static final String KEY = "key";
    private static final String AUTHOR = "author";
    private static final String REASON = "reason";
    private static final Set<String> FIELDS = Set.of(ACTION, KEY, AUTHOR, REASON);
    private static final String FORM = "the body must be an object with the fields action, one of "
            + Arrays.stream(Action.values())
                    .map(action -> action.name().toLowerCase(Locale.ROOT))
                    .collect(Collectors.joining(", "))
            + ", and reason, and optionally author and key, an object with the values of all key fields of the queue";

    private final Supplier<ServedInstance> instance;
    private final QueueAggregator parts;

    QueueCommandApi(Supplier<ServedInstance> instance, PeerInstances peers) {
        this.instance = instance;
        parts = new QueueAggregator(peers);
    }

    /** Lists the last commands to a queue, newest first. */
    void list(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        QueryParameters.requireNone(request);
        String id = request.pathParam("id");
        List<QueueCommands.PastCommand> past = instance.get().rules().commands(id);
        if (past.isEmpty()) {
            requireKnown(id);
        }
        ResponseWriter.write(request, format, 200, JsonViews.commands(id, past));
    }

    /** Sends a command, and responds when all partitions of the queue have put it in effect, or after the timeout. */
    void send(Context request) {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        BodyFormat sent = BodyFormat.ofContentType(request);
        int timeoutMs = QueryParameters.of(request, TIMEOUT_PARAMETER)
                .number(TIMEOUT_PARAMETER, 0, MAX_TIMEOUT_MS)
                .orElse(DEFAULT_TIMEOUT_MS);
        JsonNode body = RequestBody.tree(sent, RequestBody.text(request));
        requireForm(body);
        String id = request.pathParam("id");
        QueueCommand command = QueueCommand.of(id, key(body), action(body), origin(request, body));
        requireTarget(command);
        QueueCommands.Result result = instance.get().rules().send(command, Duration.ofMillis(timeoutMs));
        ResponseWriter.write(request, format, 200, JsonViews.commanded(command, result));
    }

    private static void requireForm(JsonNode body) {
        boolean isKnown =
                body.isObject() && body.properties().stream().allMatch(field -> FIELDS.contains(field.getKey()));
        boolean isText = isKnown
                && body.properties().stream()
                        .allMatch(field ->
                                field.getKey().equals(KEY) || field.getValue().isTextual());
        if (!isText
                || !body.has(ACTION)
                || body.has(KEY) && !(body.get(KEY).isObject() && !body.get(KEY).isEmpty())) {
            throw bad(FORM);
        }
    }

    private static Action action(JsonNode body) {
        String text = body.get(ACTION).textValue();
        return Arrays.stream(Action.values())
                .filter(action -> action.name().toLowerCase(Locale.ROOT).equals(text))
                .findFirst()
                .orElseThrow(() -> bad(FORM));
    }

    private static Map<String, String> key(JsonNode body) {
        Map<String, String> values = new TreeMap<>();
        body.path(KEY).properties().forEach(field -> {
            if (!field.getValue().isTextual()) {
                throw bad("key." + field.getKey() + " must be a string");
            }
            values.put(field.getKey(), field.getValue().textValue());
        });
        return values;
    }

    private static QueueCommand.Origin origin(Context request, JsonNode body) {
        ChangeAuthor changedBy = AccessControl.changedBy(request, text(body, AUTHOR), text(body, REASON));
        String reason = changedBy.reason().orElseThrow(() -> bad("reason is missing: say why, for the history"));
        return new QueueCommand.Origin(changedBy.author(), reason, System.currentTimeMillis());
    }

    private static Optional<String> text(JsonNode body, String field) {
        return Optional.ofNullable(body.path(field).textValue()).filter(text -> !text.isBlank());
    }

    private void requireTarget(QueueCommand command) {
        String id = command.target().queue();
        QueueRules rules = instance.get().rules().queue(id);
        if (rules == null) {
            requireKnown(id); // a deleted queue drains, and can be paused or purged meanwhile
        } else if (command.target().isKeyed()) {
            requireKeyFields(command.target().values(), rules);
        }
        boolean isFurtherKey = command.target().isKeyed() && command.action() != Action.RESUME;
        if (isFurtherKey && commandedKeys(id) >= OrdersView.MAX_KEYS) {
            throw ProblemDetails.conflict(OrdersView.MAX_KEYS + " keys of queue '" + id
                            + "' have commands: resume some, or give the command to the whole queue")
                    .exception();
        }
    }

    private static void requireKeyFields(Map<String, String> key, QueueRules rules) {
        if (!rules.isKeyed()) {
            throw bad("queue '" + rules.id() + "' has no key fields: leave out key");
        }
        if (!key.keySet().equals(Set.copyOf(rules.key()))) {
            throw bad("the key fields of queue '" + rules.id() + "' are " + String.join(", ", rules.key()));
        }
    }

    /** Returns how many keys of a queue have commands, on the instances that respond. */
    private long commandedKeys(String id) {
        Result<QueueView> answer = instance.get().queries().queue(id);
        QueueView view = answer instanceof Result.Partial<QueueView> part
                ? parts.gather(id, part).join().view()
                : null; // without key fields, or moving
        return view == null ? 0 : view.orders().keys();
    }

    private void requireKnown(String id) {
        RuleService rules = instance.get().rules();
        if (rules.queue(id) == null && rules.history(Kind.QUEUE, id).isEmpty()) {
            throw ProblemDetails.of(404, "there is no queue '" + id + "'").exception();
        }
    }

    private static ProblemDetails.ProblemException bad(String detail) {
        return ProblemDetails.of(400, detail).exception();
    }
}
