package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.api.Reply;
import dev.weir.config.WeirConfig;
import dev.weir.policy.RequestRules;
import dev.weir.wire.json.Json;
import dev.weir.wire.json.RequestJson;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Pattern;

/** Bodies for {@code /v1/decide}, valid and hostile ones, and what the responses to them must say. */
final class DecideCalls {

    static final String PATH = "/v1/decide";
    static final String NDJSON = "application/x-ndjson";
    static final String JSON = "application/json";

    private static final List<String> TARGETS = List.of(
            PATH,
            PATH + "?timeout=10s",
            PATH + "?timeout=1ms&fallback=allow",
            PATH + "?fallback=deny&timeout=3s",
            PATH + "?enforce=true",
            PATH + "?enforce=true&fallback=deny");

    /** Valid requests. Those with an id repeat it, so that idempotent policies reject some. */
    private static final List<String> REQUESTS = List.of(
            "{\"client\":\"alice\",\"tier\":\"free\",\"attributes\":{\"endpoint\":\"/articles/7\"}}",
            "{\"client\":\"bob\",\"requestId\":\"r7\",\"cost\":3,\"kind\":\"CONSUME\"}",
            "{\"client\":\"żółw \\ud83d\\ude00\",\"kind\":\"PEEK\",\"payload\":\"AQID\",\"sizeBytes\":9}",
            "{\"client\":\"bob\",\"kind\":\"SETTLE\",\"cost\":-2,\"attributes\":{}}",
            "{\"client\":\"bob\",\"requestId\":\"r7\",\"kind\":\"CANCEL\",\"queue\":\"q1\"}",
            "{\"client\":\"bob\",\"limitOverride\":{\"limit\":9,\"windowMs\":60000},\"cost\":3}",
            "{\"client\":\"bob\",\"requestId\":\"r8\",\"reserve\":\"60s\",\"cost\":3}",
            "{\"client\":\"bob\",\"requestId\":\"r9\",\"reserve\":1}",
            "{\"client\":\"bob\",\"kind\":\"SETTLE\",\"settles\":\"r8\",\"cost\":2}",
            "{\"client\":\"bob\",\"requestId\":\"r8\",\"kind\":\"RENEW\"}",
            "{\"client\":\"bob\",\"requestId\":\"r8\",\"kind\":\"RELEASE\"}",
            "{\"client\":\"bob\",\"requestId\":\"r8\",\"kind\":\"CANCEL\"}",
            "{\"client\":\"carol\",\"deadline\":2000,\"attributes\":{\"endpoint\":\"/a\"}}");

    private static final RequestRules RULES = WeirConfig.DEFAULTS.requests().rules();
    private static final int MAX_BATCH = 1_000;
    private static final int BULK = 1 << 17;
    private static final Pattern NAMES_A_PLACE = Pattern.compile(
            "(the body )?\\[\\d{1,4}]: .+|the body (has more than 1000 requests|has content after the JSON array"
                    + "|is not UTF-8)|enforce=true needs a body with a single request");

    private DecideCalls() {}

    static String target(SplittableRandom random) {
        return any(TARGETS, random);
    }

    static String single(SplittableRandom random) {
        return any(REQUESTS, random);
    }

    static String array(SplittableRandom random) {
        return switch (random.nextInt(12)) {
            case 0 -> "[" + "{},".repeat(BULK) + "{}]";
            case 1 -> "[" + "[".repeat(1 + random.nextInt(BULK));
            case 2 -> "[" + "1,".repeat(1 + random.nextInt(BULK));
            default -> "[" + String.join(",", requests(random)) + "]";
        };
    }

    static String lines(SplittableRandom random) {
        String end = random.nextInt(4) == 0 ? "\r\n" : "\n";
        return switch (random.nextInt(12)) {
            case 0 -> "\n".repeat(1 + random.nextInt(BULK)) + single(random);
            case 1 -> "{}\n".repeat(1 + random.nextInt(BULK));
            default ->
                String.join(end.repeat(1 + random.nextInt(2)), requests(random)) + (random.nextBoolean() ? end : "");
        };
    }

    /** Returns requests, one in a few times with an invalid one among them, or more than a body may have. */
    private static List<String> requests(SplittableRandom random) {
        int count =
                switch (random.nextInt(20)) {
                    case 0 -> MAX_BATCH - 1 + random.nextInt(3);
                    case 1 -> 1 + random.nextInt(MAX_BATCH);
                    default -> 1 + random.nextInt(20);
                };
        List<String> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(single(random));
        }
        if (random.nextInt(3) == 0) {
            requests.set(random.nextInt(count), TextMutation.of(REQUESTS, random));
        }
        return requests;
    }

    /**
     * Requires that each request of a body is answered, or that the problem names the first invalid one.
     *
     * @param target the path and parameters of the call; nothing is required if they are not those of this class
     * @param type the content type of the call
     */
    static void check(String target, String type, String body, Reply reply) {
        if (!TARGETS.contains(target)) {
            return;
        }
        if (type.equals(NDJSON)) {
            checkLines(target, body.lines().toList(), reply);
        } else if (type.equals(JSON) && body.stripLeading().startsWith("[")) {
            if (reply.status() == 200) {
                List<JsonNode> requests = new ArrayList<>();
                Json.read(body).forEach(requests::add);
                List<JsonNode> answers = new ArrayList<>();
                reply.json().forEach(answers::add);
                requireAnswers(requests, answers);
            } else if (reply.status() == 400) {
                assertThat(reply.detail()).matches(NAMES_A_PLACE);
            }
        }
    }

    private static void checkLines(String target, List<String> lines, Reply reply) {
        if (reply.status() == 200) {
            requireAnswers(
                    lines.stream()
                            .filter(line -> !line.isBlank())
                            .map(Json::read)
                            .toList(),
                    reply.text().lines().map(Json::read).toList());
        } else if (reply.status() == 400) {
            assertThat(reply.detail())
                    .startsWith(
                            target.contains("enforce=true")
                                    ? "enforce=true needs a body with a single request"
                                    : firstFault(lines));
        }
    }

    private static void requireAnswers(List<JsonNode> requests, List<JsonNode> answers) {
        assertThat(answers).hasSameSizeAs(requests);
        for (int i = 0; i < requests.size(); i++) {
            JsonNode request = requests.get(i);
            assertThat(answers.get(i).get("client")).isEqualTo(request.get("client"));
            if (request.has("requestId")) {
                assertThat(answers.get(i).get("requestId")).isEqualTo(request.get("requestId"));
            }
        }
    }

    /** Returns how the refusal of an invalid body begins. */
    private static String firstFault(List<String> lines) {
        int requests = 0;
        for (int number = 1; number <= lines.size(); number++) {
            String line = lines.get(number - 1);
            if (!line.isBlank() && ++requests > MAX_BATCH) {
                return "the body has more than " + MAX_BATCH + " requests";
            }
            if (!line.isBlank() && !isValid(line)) {
                return "line " + number + ": ";
            }
        }
        throw new AssertionError("a valid body was refused");
    }

    private static boolean isValid(String line) {
        try {
            return RULES.check(RequestJson.readNew(line, () -> "id", 1)).isEmpty();
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static String any(List<String> texts, SplittableRandom random) {
        return texts.get(random.nextInt(texts.size()));
    }
}
