package dev.weir.testing;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Random;

/** Valid policy files as JSON, with all keys, and texts that a YAML reader could take for something else. */
public final class RandomPolicyFiles {

    private static final List<String> TEXTS = List.of(
            "",
            "a",
            "free",
            "NO",
            "null",
            "~",
            "true",
            "1",
            "1_000",
            "1.10",
            "1e3",
            "0x1F",
            "0o7",
            "-",
            "- a",
            "12:30:45",
            "2026-12-01",
            "2026-12-01T00:00:00Z",
            "a: b",
            "a #b",
            "# a",
            "{a}",
            "[a",
            "a]",
            "a, b",
            "'",
            "\"",
            "\\\\",
            "&a",
            "*",
            "**",
            "/articles/**",
            "!t",
            "|",
            ">",
            "%",
            "@",
            "`",
            "? a",
            " a ",
            "\t",
            "a\nb\n",
            "\u0001",
            "\u0085",
            "\u009b",
            "\u202e",
            "\u2028",
            "\ufeff",
            "ż",
            "\ue000",
            "\ud83d\ude00",
            "\udb80\udc00",
            "<<",
            "=",
            "ms",
            "5m",
            "5M",
            "x".repeat(120),
            "\u00ad".repeat(250)); // its escapes exceed the length of a simple key in YAML

    private static final List<String> NAMES =
            List.of("a", "true", "null", "1", "1.5", "-", "x_y.z-1", "07", "NO", "1e5");

    private final Random random;
    private final ObjectMapper json = new ObjectMapper();

    /** @param random the source of all choices */
    public RandomPolicyFiles(Random random) {
        this.random = random;
    }

    /** Returns a file with a number of policies and of queues, of at least one. */
    public String next(int policies, int queues) {
        ObjectNode file = json.createObjectNode();
        ArrayNode policyList = file.putArray("policies");
        ArrayNode queueList = file.putArray("queues");
        for (int i = 0; i < queues; i++) {
            queue(queueList.addObject(), name(i));
        }
        for (int i = 0; i < policies; i++) {
            policy(policyList.addObject(), name(i), name(random.nextInt(queues)));
        }
        return file.toString();
    }

    private static String name(int i) {
        return i < NAMES.size() ? NAMES.get(i) : "p" + i;
    }

    private void queue(ObjectNode queue, String id) {
        queue.put("id", id).put("limit", 1 + random.nextInt(1_000)).put("per", duration());
        if (random.nextBoolean()) {
            queue.put("burst", 1 + random.nextInt(9))
                    .put("max-wait", duration())
                    .put("capacity", 10);
        }
        if (random.nextBoolean()) {
            queue.putArray("key").add("client").add(text("k"));
            total(queue.putObject("total"));
        }
        if (random.nextBoolean()) {
            queue.put("max-in-flight", 1 + random.nextInt(9));
        }
        boolean hasSlots = queue.has("max-in-flight") || queue.path("total").has("max-in-flight");
        if (hasSlots) {
            queue.put("ack-timeout", duration());
            if (random.nextBoolean()) {
                queue.remove(List.of("limit", "per", "burst"));
            }
        }
        boolean hasCaps = hasSlots && random.nextBoolean();
        if (hasCaps) {
            queue.put("max-in-flight-per-client", 1 + random.nextInt(9));
        }
        ObjectNode tiers = queue.putObject("tiers");
        for (int i = random.nextInt(4); i > 0; i--) {
            ObjectNode tier = tiers.putObject(text("t"))
                    .put("priority", random.nextInt(9) - 4)
                    .put("weight", 1 + random.nextInt(9));
            if (hasCaps) {
                tier.put("max-in-flight", 1 + random.nextInt(9));
            }
        }
    }

    private void total(ObjectNode total) {
        boolean hasSlots = random.nextBoolean();
        if (!hasSlots || random.nextBoolean()) {
            total.put("limit", 7).put("per", duration());
        }
        if (hasSlots) {
            total.put("max-in-flight", 1 + random.nextInt(9));
        }
    }

    private void policy(ObjectNode policy, String id, String queue) {
        policy.put("id", id).put("priority", random.nextInt(9) - 4);
        ObjectNode match = policy.putObject("match");
        for (int i = random.nextInt(4); i > 0; i--) {
            if (random.nextBoolean()) {
                match.put(text("f"), text(""));
            } else {
                match.putArray(text("f")).add(text("")).add(text(""));
            }
        }
        if (random.nextBoolean()) {
            policy.put("layer", NAMES.get(random.nextInt(NAMES.size())));
        }
        if (random.nextInt(3) == 0) {
            policy.put("effective-from", "2026-12-01T00:00:00Z");
        }
        if (random.nextBoolean()) {
            policy.put("idempotency", duration());
        }
        if (random.nextBoolean()) {
            policy.put("max-size", random.nextBoolean() ? "64KiB" : "1500");
        }
        // A policy that throttles must not apply to requests that another one shapes.
        match.put("tier", "shaped");
        switch (random.nextInt(5)) {
            case 0 -> {
                policy.put("queue", queue);
                return; // shapes all requests, without limits
            }
            case 1 -> policy.put("on-exceed", "shape").put("queue", queue);
            case 2 -> {
                match.put("tier", "throttled");
                policy.put("on-exceed", "throttle").put("max-delay", duration());
            }
            case 3 -> policy.put("on-exceed", random.nextBoolean() ? "observe" : "shadow-ban");
            default -> policy.put("deny-status", 503);
        }
        ArrayNode limits = policy.putArray("limits");
        for (int i = 1 + random.nextInt(3); i > 0; i--) {
            limit(limits.addObject());
        }
        String onExceed = policy.path("on-exceed").asText();
        if (!onExceed.equals("shape") && !onExceed.equals("throttle") && random.nextBoolean()) {
            limits.addObject().put("algorithm", "concurrency").put("limit", 5).put("ttl", duration());
        }
    }

    private void limit(ObjectNode limit) {
        switch (random.nextInt(7)) {
            case 0 -> limit.put("unlimited", true);
            case 1 -> limit.put("algorithm", "gcra").put("limit", 0);
            case 2 ->
                limit.put("algorithm", "fixed-window")
                        .put("limit", 5)
                        .put("per", "1 month")
                        .put("timezone", "Europe/Berlin");
            case 3 ->
                limit.put("algorithm", "token-bucket")
                        .put("limit", 5)
                        .put("per", "1 day")
                        .put("burst", 7)
                        .put("refill", "interval");
            case 4 ->
                limit.put("algorithm", "sliding-window-counter")
                        .put("limit", 5)
                        .put("per", duration())
                        .put("strict", true);
            case 5 ->
                limit.put("algorithm", "sliding-window-log")
                        .put("limit", 5)
                        .put("per", duration())
                        .put("count-denied", random.nextBoolean());
            default -> limit.put("algorithm", "leaky-bucket").put("limit", 5).put("per", duration());
        }
    }

    private String duration() {
        return List.of("500ms", "1s", "90s", "1 minute", "2h", "1 d").get(random.nextInt(6));
    }

    /** @param prefix makes the text a name of its own; empty for any text */
    private String text(String prefix) {
        return prefix + TEXTS.get(random.nextInt(TEXTS.size()));
    }
}
