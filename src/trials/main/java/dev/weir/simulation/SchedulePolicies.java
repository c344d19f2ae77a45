package dev.weir.simulation;

import dev.weir.definition.PolicyRecordReader;
import dev.weir.event.Request;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.backlog.QueueRules;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.UnreadableException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** The policies and queues of a schedule, and their changes; the policy of a tier has the tier's name. */
final class SchedulePolicies {

    static final String HOUR = "hour";
    static final String LANE = "lane";

    static final List<String> TIERS =
            List.of("log", "fixed", "bucket", "gcra", "counter", "interval", "queue", "burst");

    /** The last four have limits that are shared, and "spots" counts what some of them and another do, by endpoint. */
    static final List<String> TIERS_THAT_SHARE =
            List.of("gcra", "interval", "queue", "log", "pool", "pool", "both", "both", LANE, HOUR);

    static final int MOST_LOOK_AHEAD_MS = 100;

    /** For how long at most a request waits for shared quota. */
    static final int MOST_WAIT_MS = 300;

    static final List<String> QUEUES = List.of("drip", "gush");
    private static final List<String> SHARED = List.of("pool", "both", LANE, HOUR, "spots");

    /** With their windows, and bursts. */
    private static final List<String> ALGORITHMS = List.of(
            "\"fixed-window\",\"per\":\"800ms\"",
            "\"sliding-window-log\",\"per\":\"1s\"",
            "\"sliding-window-counter\",\"per\":\"900ms\"",
            "\"sliding-window-counter\",\"per\":\"900ms\",\"strict\":true",
            "\"token-bucket\",\"per\":\"1s\",\"burst\":4",
            "\"leaky-bucket\",\"per\":\"1s\",\"burst\":3",
            "\"gcra\",\"per\":\"1s\",\"burst\":4");

    private static final int MOST_CHANGES = 4;
    private static final PolicyAvro AVRO = new PolicyAvro();

    private final Random random;
    private final Map<String, PolicyRecordReader> current = new TreeMap<>();
    private final Map<String, String> idempotency = new HashMap<>();
    private final Map<String, Integer> mostLimit = new HashMap<>();
    private final Map<String, Integer> leastLimit = new HashMap<>();
    private final Map<String, String> sharedLimits = new HashMap<>();
    private final Map<String, Policy> mostLenient = new HashMap<>();
    private final List<String> ids;
    private final Map<String, Long> versions = new TreeMap<>();
    private PolicyTable table;
    private int lastLimit;

    /** A record of the policies topic. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Rule(String key, byte[] value) {}

    SchedulePolicies(Random random, SchedulePlan plan) {
        this.random = random;
        ids = new ArrayList<>(TIERS);
        if (plan.shares()) {
            ids.addAll(SHARED);
        }
    }

    /** What holds at first: queues, then policies. */
    List<Rule> first() {
        List<Rule> rules = new ArrayList<>();
        for (String queue : QUEUES) {
            rules.add(write(PolicyAvro.Kind.QUEUE, queue, queueDefinition(queue), false));
        }
        List<String> all = new ArrayList<>(ids);
        all.add("all");
        for (String id : all) {
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
        String id = ofQueue ? QUEUES.get(random.nextInt(QUEUES.size())) : ids.get(random.nextInt(ids.size()));
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
        byte[] value = AVRO.encode(new PolicyAvro.Applied(kind, id, version, definition, 0).withBefore(before));
        try {
            current.put(key, PolicyRecordReader.read(key, value, 0));
        } catch (UnreadableException e) {
            throw new AssertionError(definition, e);
        }
        table = null;
        current.get(key).policies().stream().filter(Policy::isShared).forEach(policy -> {
            if (versions.get(key) == policy.version() && lastLimit == mostLimit.get(id)) {
                mostLenient.put(id, policy);
            }
        });
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
                .map(PolicyRecordReader::queue)
                .filter(queue -> queue != null)
                .toList();
    }

    /** What is in force by key, for one who has heard of all. */
    List<PolicyAvro.Applied> applied() {
        return current.values().stream().map(PolicyRecordReader::applied).toList();
    }

    /** The highest limit that a policy or queue has had. */
    int mostLimit(String id) {
        return mostLimit.get(id);
    }

    /** The lowest limit that a policy or queue has had. */
    int leastLimit(String id) {
        return leastLimit.get(id);
    }

    /** The version of a policy that is shared that has had the highest limits. */
    Policy mostLenient(String id) {
        return mostLenient.get(id);
    }

    /** Whether limits that are shared have a part in what is decided of a request. */
    boolean isShared(Request request) {
        return table().applicable(request).stream().anyMatch(Policy::isShared);
    }

    /** Whether a queue has its first rules. */
    boolean isUnchanged(String queue) {
        return versions.get(PolicyAvro.key(PolicyAvro.Kind.QUEUE, queue)) == 1;
    }

    private int limit(String id, int least, int spread) {
        int limit = least + random.nextInt(spread);
        lastLimit = limit;
        mostLimit.merge(id, limit, Math::max);
        leastLimit.merge(id, limit, Math::min);
        return limit;
    }

    private String queueDefinition(String id) {
        return "{\"id\":\"" + id + "\",\"limit\":" + limit(id, 8, 20) + ",\"per\":\"1s\",\"burst\":" + burst(id)
                + (isKeyed(id) ? ",\"key\":[\"client\"],\"total\":{\"limit\":12,\"per\":\"1s\"}" : "")
                + ",\"capacity\":" + (2 + random.nextInt(10))
                + (id.equals("drip") && random.nextBoolean()
                        ? ",\"max-wait\":\"" + (200 + random.nextInt(2_000)) + "ms\""
                        : "")
                + ",\"look-ahead\":\"" + random.nextInt(3) * MOST_LOOK_AHEAD_MS / 2 + "ms\""
                + ",\"tiers\":{\"burst\":{\"weight\":" + (1 + random.nextInt(4)) + ",\"priority\":" + random.nextInt(2)
                + "}}}";
    }

    /** Whether a queue is one bucket for each client; then it has a total, always the same. */
    static boolean isKeyed(String queue) {
        return queue.equals("gush");
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
            case "both" -> match(id) + limits("sliding-window-log", limit(id, 1, 4), "500ms", "");
            case "pool" -> match(id) + ",\"key\":[]" + shared(id, limit(id, 2, 5));
            case LANE ->
                match(id) + ",\"key\":[],\"on-exceed\":\"shape\",\"queue\":\"drip\"" + shared(id, limit(id, 1, 3));
            case HOUR ->
                match(id) + ",\"key\":[\"tier\"]" + limits("fixed-window", limit(id, 2, 10), "1h", "") + waits();
            case "spots" ->
                ",\"layer\":\"spots\",\"match\":{\"tier\":[\"pool\",\"both\",\"gcra\"]},\"key\":[\"endpoint\"]"
                        + shared(id, limit(id, 3, 6));
            default ->
                ",\"layer\":\"all\",\"match\":{\"tier\":[\"log\",\"fixed\",\"bucket\"]}"
                        + limits("sliding-window-log", limit(id, 5, 5), "2s", "") + ",\"deny-status\":503";
        };
    }

    /** One or two limits, of algorithms that stay the same; the second one is higher, and of a longer window. */
    private String shared(String id, int limit) {
        String algorithm = sharedLimits.computeIfAbsent(id, one -> ALGORITHMS.get(random.nextInt(ALGORITHMS.size())));
        String also = algorithm.startsWith("\"sliding")
                ? ",{\"algorithm\":\"gcra\",\"limit\":" + 2 * limit + ",\"per\":\"3s\",\"burst\":6}"
                : "";
        return ",\"limits\":[{\"algorithm\":" + algorithm + ",\"limit\":" + limit + "}" + also + "]" + waits();
    }

    private String waits() {
        return switch (random.nextInt(4)) {
            case 0 -> "";
            case 1 -> ",\"when-empty\":\"deny\"";
            default -> ",\"max-wait\":\"" + (1 + random.nextInt(MOST_WAIT_MS)) + "ms\"";
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
