package dev.weir.simulation;

import dev.weir.codec.AppliedRules;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.QueueRules;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** The policies and queues of a schedule, and their changes; the policy of a tier has the tier's name. */
final class Rulebook {

    static final List<String> TIERS =
            List.of("log", "fixed", "bucket", "gcra", "counter", "interval", "queue", "burst");

    static final List<String> QUEUES = List.of("drip", "gush");
    private static final int MOST_CHANGES = 4;
    private static final PolicyAvro AVRO = new PolicyAvro();

    private final Random random;
    private final Map<String, AppliedRules> current = new TreeMap<>();
    private final Map<String, String> idempotency = new HashMap<>();
    private final Map<String, Integer> mostLimit = new HashMap<>();
    private final Map<String, Long> versions = new TreeMap<>();
    private PolicyTable table;

    /** A record of the policies topic. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Rule(String key, byte[] value) {}

    Rulebook(Random random) {
        this.random = random;
    }

    /** What holds at first: queues, then policies. */
    List<Rule> first() {
        List<Rule> rules = new ArrayList<>();
        for (String queue : QUEUES) {
            rules.add(write(PolicyAvro.Kind.QUEUE, queue, queueDefinition(queue), false));
        }
        List<String> ids = new ArrayList<>(TIERS);
        ids.add("all");
        for (String id : ids) {
            String[] windows = {"", ",\"idempotency\":\"300ms\"", ",\"idempotency\":\"10m\""};
            idempotency.put(id, windows[random.nextInt(windows.length)]);
            rules.add(write(PolicyAvro.Kind.POLICY, id, policyDefinition(id, null), false));
        }
        return rules;
    }

    /**
     * A change of one policy or queue, null if there were enough.
     *
     * @param fromMs from which record time on it holds, null for always
     */
    Rule change(Long fromMs) {
        boolean ofQueue = random.nextInt(4) == 0;
        String id = ofQueue ? QUEUES.get(random.nextInt(QUEUES.size())) : TIERS.get(random.nextInt(TIERS.size()));
        PolicyAvro.Kind kind = ofQueue ? PolicyAvro.Kind.QUEUE : PolicyAvro.Kind.POLICY;
        if (versions.get(PolicyAvro.key(kind, id)) > MOST_CHANGES) {
            return null;
        }
        String definition = ofQueue ? queueDefinition(id) : policyDefinition(id, fromMs);
        return write(kind, id, definition, !ofQueue && fromMs != null);
    }

    /** A record that is no rule, under the key of one. */
    Rule bad() {
        List<String> keys = List.copyOf(current.keySet());
        return new Rule(keys.get(random.nextInt(keys.size())), new byte[] {1, 2, 3});
    }

    private Rule write(PolicyAvro.Kind kind, String id, String definition, boolean keepsEarlier) {
        String key = PolicyAvro.key(kind, id);
        long version = versions.merge(key, 1L, Long::sum);
        List<PolicyAvro.Earlier> before =
                keepsEarlier ? earlier(current.get(key).applied()) : List.of();
        byte[] value = AVRO.encode(new PolicyAvro.Applied(kind, id, version, definition, 0, before));
        try {
            current.put(key, AppliedRules.read(key, value, 0));
        } catch (UnreadableException e) {
            throw new AssertionError(definition, e);
        }
        table = null;
        return new Rule(key, value);
    }

    private static List<PolicyAvro.Earlier> earlier(PolicyAvro.Applied last) {
        List<PolicyAvro.Earlier> before = new ArrayList<>();
        before.add(new PolicyAvro.Earlier(last.version(), last.definition(), 0));
        before.addAll(last.before());
        return before;
    }

    /** All policies as they were applied last, with the versions that hold before. */
    PolicyTable table() {
        if (table == null) {
            table = new PolicyTable(current.values().stream()
                    .flatMap(rules -> rules.policies().stream())
                    .toList());
        }
        return table;
    }

    /** The rules that a queue has now. */
    List<QueueRules> queues() {
        return current.values().stream()
                .map(AppliedRules::queue)
                .filter(queue -> queue != null)
                .toList();
    }

    /** What is in force by key, for one who has heard of all. */
    List<PolicyAvro.Applied> applied() {
        return current.values().stream().map(AppliedRules::applied).toList();
    }

    /** The highest limit that a policy or queue has had. */
    int mostLimit(String id) {
        return mostLimit.get(id);
    }

    /** Whether a queue has its first rules. */
    boolean isUnchanged(String queue) {
        return versions.get(PolicyAvro.key(PolicyAvro.Kind.QUEUE, queue)) == 1;
    }

    private int limit(String id, int least, int spread) {
        int limit = least + random.nextInt(spread);
        mostLimit.merge(id, limit, Math::max);
        return limit;
    }

    private String queueDefinition(String id) {
        return "{\"id\":\"" + id + "\",\"limit\":" + limit(id, 8, 20) + ",\"per\":\"1s\",\"burst\":" + burst(id)
                + ",\"capacity\":" + (2 + random.nextInt(10))
                + (id.equals("drip") && random.nextBoolean()
                        ? ",\"max-wait\":\"" + (200 + random.nextInt(2_000)) + "ms\""
                        : "")
                + ",\"look-ahead\":\"" + random.nextInt(3) * 50 + "ms\""
                + ",\"tiers\":{\"burst\":{\"weight\":" + (1 + random.nextInt(4)) + ",\"priority\":" + random.nextInt(2)
                + "}}}";
    }

    static int burst(String queue) {
        return queue.equals("drip") ? 1 : 3;
    }

    private String policyDefinition(String id, Long fromMs) {
        return "{\"id\":\"" + id + "\"" + rest(id) + idempotency.get(id)
                + (fromMs == null ? "" : ",\"effective-from\":\"" + Instant.ofEpochMilli(fromMs) + "\"") + "}";
    }

    private String rest(String id) {
        return switch (id) {
            case "log" -> match(id) + limits("sliding-window-log", limit(id, 1, 8), "500ms", "");
            case "fixed" -> match(id) + limits("fixed-window", limit(id, 1, 8), "400ms", "");
            case "bucket" -> match(id) + limits("token-bucket", limit(id, 2, 8), "1s", ",\"burst\":4");
            case "gcra" ->
                match(id) + limits("gcra", limit(id, 3, 8), "1s", ",\"burst\":2")
                        + ",\"on-exceed\":\"throttle\",\"max-delay\":\"400ms\"";
            case "counter" ->
                match(id) + limits("sliding-window-counter", limit(id, 2, 6), "600ms", ",\"strict\":true")
                        + ",\"on-exceed\":\"observe\"";
            case "interval" ->
                match(id) + ",\"key\":[\"client\",\"endpoint\"]"
                        + limits("token-bucket", limit(id, 1, 4), "700ms", ",\"burst\":6,\"refill\":\"interval\"")
                        + ",\"on-exceed\":\"shadow-ban\"";
            case "queue" -> match(id) + ",\"on-exceed\":\"shape\",\"queue\":\"drip\"";
            case "burst" ->
                match(id) + limits("gcra", limit(id, 2, 4), "1s", ",\"burst\":2")
                        + ",\"on-exceed\":\"shape\",\"queue\":\"" + (random.nextBoolean() ? "drip" : "gush") + "\"";
            default ->
                ",\"layer\":\"all\",\"match\":{\"tier\":[\"log\",\"fixed\",\"bucket\"]}"
                        + limits("sliding-window-log", limit(id, 5, 5), "2s", "") + ",\"deny-status\":503";
        };
    }

    private static String match(String tier) {
        return ",\"match\":{\"tier\":\"" + tier + "\"}";
    }

    private static String limits(String algorithm, int limit, String per, String more) {
        return ",\"limits\":[{\"algorithm\":\"" + algorithm + "\",\"limit\":" + limit + ",\"per\":\"" + per + "\""
                + more + "}]";
    }
}
