package dev.weir.simulation.schedule;

import dev.weir.definition.DecodedPolicyRecord;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.PolicyAvro;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;

/** The policies and queues of a schedule, and their changes. The policy of a tier has the name of the tier. */
public final class SchedulePolicies {

    public static final String HOUR = "hour";
    public static final String LANE = "lane";

    /** The tier whose requests are reservations. */
    public static final String SLOTS = "slots";

    public static final long SLOTS_TTL_MS = 2_000;
    public static final long SLOTS_WINDOW_MS = 1_500;
    public static final long SLOTS_A_WINDOW = 9;

    /** A queue with a rate and slots, for two tiers. */
    public static final String DESK = "desk";

    public static final String RUSH = "rush";

    /** A queue that has slots only, those of each client. */
    public static final String CREW = "crew";

    /** A queue that also has slots of all clients together. Of several partitions, each client is on another one. */
    public static final String STAFF = "staff";

    static final List<String> TIERS = List.of(
            "log",
            "fixed",
            "bucket",
            "gcra",
            "counter",
            "interval",
            "queue",
            "burst",
            SLOTS,
            SLOTS,
            DESK,
            RUSH,
            CREW,
            STAFF);

    /**
     * The tiers of a schedule with shared limits. Those apply to pool, lane and hour, and by the policy
     * "spots" to pool, both and gcra.
     */
    static final List<String> TIERS_THAT_SHARE = List.of(
            "gcra",
            "interval",
            "queue",
            "log",
            "pool",
            "pool",
            "pool",
            "both",
            "both",
            "both",
            LANE,
            HOUR,
            SLOTS,
            DESK,
            CREW,
            STAFF);

    public static final int MOST_LOOK_AHEAD_MS = 100;

    /** The longest {@code max-wait} for shared quota. */
    public static final int MOST_WAIT_MS = 300;

    public static final List<String> QUEUES = List.of("drip", "gush", DESK, CREW, STAFF);
    private static final List<String> SHARED = List.of("pool", "both", LANE, HOUR, "spots");

    /** The algorithms of shared limits, with windows and bursts. */
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
    private final Map<String, DecodedPolicyRecord> current = new TreeMap<>();
    private final Map<String, String> idempotency = new HashMap<>();
    private final Map<String, Integer> mostLimit = new HashMap<>();
    private final Map<String, Integer> leastLimit = new HashMap<>();
    private final Map<String, String> sharedLimits = new HashMap<>();
    private final Map<String, Policy> mostLenient = new HashMap<>();
    private final List<String> ids;
    private final Map<String, Long> versions = new TreeMap<>();
    private final String staffRate; // which never changes
    private PolicyTable table;
    private int lastLimit;

    /** A record of the policies topic. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    public record Rule(String key, byte[] value) {}

    public SchedulePolicies(Random random, SchedulePlan plan) {
        this.random = random;
        staffRate = random.nextBoolean() ? ",\"limit\":12,\"per\":\"1s\"" : "";
        ids = new ArrayList<>(new TreeSet<>(TIERS));
        if (plan.shares()) {
            ids.addAll(SHARED);
        }
    }

    /** Returns the initial records: queues, then policies. */
    public List<Rule> first() {
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
     * Returns a change of one policy or queue, null if it has changed often enough.
     *
     * @param fromMs the record time at which it takes effect, null for immediately
     */
    public Rule change(Long fromMs) {
        boolean ofQueue = random.nextInt(4) == 0;
        String id = ofQueue ? QUEUES.get(random.nextInt(QUEUES.size())) : ids.get(random.nextInt(ids.size()));
        PolicyAvro.Kind kind = ofQueue ? PolicyAvro.Kind.QUEUE : PolicyAvro.Kind.POLICY;
        if (versions.get(PolicyAvro.key(kind, id)) > MOST_CHANGES) {
            return null;
        }
        String definition = ofQueue ? queueDefinition(id) : policyDefinition(id, fromMs);
        return write(kind, id, definition, !ofQueue && fromMs != null);
    }

    /** Returns an invalid record under the key of a policy or queue. */
    public Rule bad() {
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
            current.put(key, DecodedPolicyRecord.read(key, value, 0));
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

    /** Returns all policies as applied last, with the versions that are in force before. */
    public PolicyTable table() {
        if (table == null) {
            table = PolicyTable.of(current.values().stream()
                    .flatMap(rules -> rules.policies().stream())
                    .toList());
        }
        return table;
    }

    /** Returns the current rules of the queues. */
    public List<QueueRules> queues() {
        return current.values().stream()
                .map(DecodedPolicyRecord::queue)
                .filter(queue -> queue != null)
                .toList();
    }

    /** Returns the policies and queues in force, by key, of an instance that has read all changes. */
    public List<PolicyAvro.Applied> applied() {
        return current.values().stream().map(DecodedPolicyRecord::applied).toList();
    }

    /** Returns the highest limit that a policy or queue has had. */
    public int mostLimit(String id) {
        return mostLimit.get(id);
    }

    /** Returns the lowest limit that a policy or queue has had. */
    public int leastLimit(String id) {
        return leastLimit.get(id);
    }

    /** Returns the version of a shared policy with the highest limits. */
    public Policy mostLenient(String id) {
        return mostLenient.get(id);
    }

    /** Returns whether shared limits apply to a request. */
    public boolean isShared(Request request) {
        return table().applicable(request).stream().anyMatch(Policy::isShared);
    }

    /** Returns whether a queue still has its initial rules. */
    public boolean isUnchanged(String queue) {
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
        return switch (id) {
            case DESK ->
                slottedDefinition(
                        id,
                        ",\"limit\":" + limit(id, 8, 20) + ",\"per\":\"1s\",\"burst\":" + burst(id)
                                + ",\"max-in-flight-per-client\":" + (1 + random.nextInt(3))
                                + ",\"tiers\":{\"" + RUSH + "\":{\"priority\":" + random.nextInt(2)
                                + ",\"max-in-flight\":" + (1 + random.nextInt(2)) + "}}");
            case CREW -> slottedDefinition(id, ",\"key\":[\"client\"]");
            case STAFF ->
                slottedDefinition(
                        id,
                        ",\"key\":[\"client\"],\"total\":{\"max-in-flight\":" + (1 + random.nextInt(3)) + staffRate
                                + "}");
            default -> pacedDefinition(id);
        };
    }

    private String slottedDefinition(String id, String more) {
        int ackMs = 200 + random.nextInt(600);
        return "{\"id\":\"" + id + "\",\"max-in-flight\":" + (1 + random.nextInt(4))
                + ",\"ack-timeout\":\"" + ackMs + "ms\",\"max-duration\":\"" + 2 * ackMs + "ms\""
                + ",\"max-attempts\":" + (1 + random.nextInt(3))
                + ",\"retry-backoff\":\"" + random.nextInt(200) + "ms\""
                + ",\"capacity\":" + (2 + random.nextInt(10))
                + ",\"look-ahead\":\"" + random.nextInt(3) * MOST_LOOK_AHEAD_MS / 2 + "ms\"" + more + "}";
    }

    private String pacedDefinition(String id) {
        return "{\"id\":\"" + id + "\",\"limit\":" + limit(id, 8, 20) + ",\"per\":\"1s\",\"burst\":" + burst(id)
                + (id.equals("gush") ? ",\"key\":[\"client\"],\"total\":{\"limit\":12,\"per\":\"1s\"}" : "")
                + ",\"capacity\":" + (2 + random.nextInt(10))
                + (id.equals("drip") && random.nextBoolean()
                        ? ",\"max-wait\":\"" + (200 + random.nextInt(2_000)) + "ms\""
                        : "")
                + ",\"look-ahead\":\"" + random.nextInt(3) * MOST_LOOK_AHEAD_MS / 2 + "ms\""
                + ",\"tiers\":{\"burst\":{\"weight\":" + (1 + random.nextInt(4)) + ",\"priority\":" + random.nextInt(2)
                + "}}}";
    }

    /** Returns whether a queue has a key, which is the client. */
    public static boolean isKeyed(String queue) {
        return queue.equals("gush") || queue.equals(CREW) || queue.equals(STAFF);
    }

    /** Returns whether a queue, or each of its keys, has a rate. */
    public static boolean hasRate(String queue) {
        return !queue.equals(CREW) && !queue.equals(STAFF);
    }

    /** Returns a queue to which requests of a tier may go. */
    public static String queueOf(String tier, Random random) {
        return switch (tier) {
            case DESK, RUSH -> DESK;
            case CREW, STAFF -> tier;
            case "burst" -> random.nextBoolean() ? "drip" : "gush";
            default -> "drip";
        };
    }

    public static int burst(String queue) {
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
            case "burst" ->
                match(id) + limits("gcra", limit(id, 2, 4), "1s", ",\"burst\":2")
                        + ",\"on-exceed\":\"shape\",\"queue\":\"" + queueOf(id, random) + "\"";
            case "queue", DESK, RUSH, CREW, STAFF ->
                match(id) + ",\"on-exceed\":\"shape\",\"queue\":\"" + queueOf(id, random) + "\"";
            case SLOTS ->
                match(id) + ",\"limits\":[{\"algorithm\":\"concurrency\",\"limit\":" + limit(id, 2, 4)
                        + ",\"ttl\":\"" + SLOTS_TTL_MS + "ms\"},{\"algorithm\":\"sliding-window-log\",\"limit\":"
                        + SLOTS_A_WINDOW + ",\"per\":\"" + SLOTS_WINDOW_MS + "ms\"}]";
            case "both" -> match(id) + limits("sliding-window-log", limit(id, 1, 4), "500ms", "");
            case "pool" -> match(id) + ",\"key\":[]" + shared(id, limit(id, 2, 5));
            case LANE ->
                match(id) + ",\"key\":[],\"on-exceed\":\"shape\",\"queue\":\"drip\"" + shared(id, limit(id, 1, 3));
            case HOUR ->
                match(id) + ",\"key\":[\"tier\"]" + limits("fixed-window", limit(id, 16, 72), "1h", "") + waits();
            case "spots" ->
                ",\"layer\":\"spots\",\"match\":{\"tier\":[\"pool\",\"both\",\"gcra\"]},\"key\":[\"endpoint\"]"
                        + shared(id, limit(id, 3, 6));
            default ->
                ",\"layer\":\"all\",\"match\":{\"tier\":[\"log\",\"fixed\",\"bucket\",\"gcra\"]}"
                        + limits("sliding-window-log", limit(id, 5, 5), "2s", "") + ",\"deny-status\":503";
        };
    }

    /** Returns one or two limits, whose algorithms never change. The second limit is higher and has a longer window. */
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
