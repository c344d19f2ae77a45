package dev.weir.topics;

import static org.apache.kafka.common.config.TopicConfig.CLEANUP_POLICY_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.MAX_MESSAGE_BYTES_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.RETENTION_MS_CONFIG;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaCommands;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.topology.Stores;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;

/** The requirements that existing topics, including Weir's changelogs, must meet. */
public final class TopicRequirements {

    private static final List<String> OF_REQUESTS = List.of(
            Stores.POLICY_STATES,
            Stores.LOG_SEGMENTS,
            Stores.IDEMPOTENCY,
            Stores.RESERVATIONS,
            Stores.LEASE_BOOKS,
            Stores.WAITING_REQUESTS,
            Stores.DECISION_ORDER);

    private static final List<String> OF_ADMISSIONS = List.of(
            Stores.QUEUE_STATES,
            Stores.QUEUE_ENTRIES,
            Stores.QUEUE_TICKETS,
            Stores.QUEUE_EXPIRY_TIMERS,
            Stores.QUEUE_TIMERS,
            Stores.QUEUE_SCHEDULE,
            Stores.QUEUE_IDEMPOTENCY);

    private static final List<String> OF_LEASE_REQUESTS = List.of(Stores.LEDGERS, Stores.LEDGER_SEGMENTS);

    private static final List<String> NEW_TOPIC_FIX = List.of(
            "then start Weir again, which creates the topic, and apply the rules again (weir policies apply);",
            "versions continue after those in the policy history: if you delete that topic too, do so afterwards");

    private static final List<String> WITHOUT_HISTORY =
            List.of("then start Weir again, which creates the topic; all rules stay in force without their history");

    /**
     * An existing topic.
     *
     * @param replicas the number of replicas of the partition with the fewest
     * @param settings the settings by name; empty if the user has no permission to read them
     */
    record Existing(String name, int partitions, int replicas, Map<String, String> settings) {}

    /**
     * A problem of a topic that prevents Weir from working.
     *
     * @param what the problem, without the name of the topic
     * @param fix the steps of the fix, one per line
     */
    public record Fault(String topic, String what, List<String> fix) {
        @Override
        public String toString() {
            return topic + ": " + what + "\n    " + String.join("\n    ", fix);
        }
    }

    /**
     * A problem of one or more topics that an operator should know about.
     *
     * @param what the problem, including the names of the topics
     * @param fix the steps of the fix, one per line
     */
    public record Warning(String what, List<String> fix) {}

    private final Topics topics;
    private final KafkaCommands commands;
    private final String applicationId;
    private final String sizeOfState;
    private final Map<String, String> changelogs = new TreeMap<>();
    private final Map<String, Existing> existing = new HashMap<>();
    private final Set<String> miscounted = new HashSet<>();
    private final List<Fault> faults = new ArrayList<>();
    private final List<Warning> warnings = new ArrayList<>();
    private final Set<String> onOneBroker = new TreeSet<>();
    private final Set<String> onOneInSync = new TreeSet<>();

    public TopicRequirements(WeirConfig config) {
        topics = Topics.of(config);
        commands = new KafkaCommands(config);
        applicationId = config.applicationId();
        sizeOfState = StatePartitions.changelog(config);
        OF_REQUESTS.forEach(store -> changelogs.put(changelog(applicationId, store), topics.requests()));
        String shapingId = KafkaSettings.shapingId(config);
        OF_ADMISSIONS.forEach(store -> changelogs.put(changelog(shapingId, store), topics.admissions()));
        OF_LEASE_REQUESTS.forEach(store -> changelogs.put(changelog(shapingId, store), topics.leaseRequests()));
        changelogs.put(changelog(shapingId, Stores.GOOD_POLICIES), topics.policies());
    }

    private static String changelog(String applicationId, String store) {
        return applicationId + "-" + store + "-changelog";
    }

    /** Returns the changelogs, each with the topic that must have the same number of partitions. */
    public Map<String, String> changelogs() {
        return changelogs;
    }

    /**
     * Checks all existing topics.
     *
     * @param isAlone whether the cluster has one broker, so that more replicas are impossible
     */
    void judge(Iterable<Existing> all, boolean isAlone) {
        all.forEach(topic -> existing.put(topic.name(), topic));
        for (String name : List.of(topics.requests(), topics.decisions(), topics.releases(), topics.deadLetters())) {
            judgeNotCompacted(name, "compaction would keep only the last record of each key");
        }
        judgeNotCompacted(topics.replies(), "compaction would keep only the last reply to each client");
        judgeNotCompacted(topics.routedRequests(), "compaction would keep only the last request of each client");
        judgeNotCompacted(topics.admissions(), "compaction would keep only the last request of each queue");
        judgeNotCompacted(topics.leaseUsage(), "compaction would keep only the last report of each key");
        for (String name : List.of(topics.leaseRequests(), topics.leaseResponses())) {
            judgeNotCompacted(name, "compaction would delete lease requests and responses");
        }
        for (String name : writtenByWeir()) {
            judgeAppendTime(name);
            judgeSize(name, TopicSetup.MAX_RECORD_BYTES);
        }
        judgeAppendTime(topics.leaseUsage());
        judgePartitionsOfState();
        judgeRetention();
        judgePartitions(topics.policies(), NEW_TOPIC_FIX);
        judgePartitions(topics.policyHistory(), WITHOUT_HISTORY);
        for (String name : List.of(topics.policies(), topics.policyHistory())) {
            judgeCompacted(name);
            judgeSize(name, TopicSetup.MAX_RULE_BYTES);
        }
        changelogs.forEach(this::judgeChangelog);
        existing.values().forEach(topic -> judgeReplicas(topic, isAlone));
        addWarning(onOneBroker, "one replica", "the data is lost if the broker is lost", commands.reassignment());
        addWarning(
                onOneInSync,
                "min.insync.replicas=1",
                "acknowledged records can be lost if one broker is lost",
                onOneInSync.stream()
                        .map(name -> commands.setTopic(name, MIN_IN_SYNC_REPLICAS_CONFIG, "2"))
                        .toList());
        if (isSet(topics.requests(), MESSAGE_TIMESTAMP_TYPE_CONFIG, "CreateTime"::equals)) {
            warnings.add(new Warning(
                    topics.requests() + " has message.timestamp.type=CreateTime: decisions use the producers' clocks",
                    List.of(commands.setTopic(topics.requests(), MESSAGE_TIMESTAMP_TYPE_CONFIG, "LogAppendTime"))));
        }
    }

    /** Returns the problems that prevent Weir from working. */
    List<Fault> faults() {
        return faults;
    }

    /** Returns the problems that an operator should know about. */
    List<Warning> warnings() {
        return warnings;
    }

    private Set<String> writtenByWeir() {
        return Set.of(
                topics.routedRequests(),
                topics.decisions(),
                topics.replies(),
                topics.releases(),
                topics.deadLetters(),
                topics.admissions(),
                topics.leaseRequests(),
                topics.leaseResponses());
    }

    private void judgeNotCompacted(String name, String why) {
        if (isSet(name, CLEANUP_POLICY_CONFIG, policy -> policy.contains("compact"))) {
            addFault(name, CLEANUP_POLICY_CONFIG, "must be delete: " + why, "delete");
        }
    }

    private void judgeCompacted(String name) {
        if (isSet(name, CLEANUP_POLICY_CONFIG, policy -> !policy.equals("compact"))) {
            addFault(
                    name,
                    CLEANUP_POLICY_CONFIG,
                    "must be compact: otherwise records that are still in use would be deleted by age",
                    "compact");
        }
    }

    private void judgeAppendTime(String name) {
        if (isSet(name, MESSAGE_TIMESTAMP_TYPE_CONFIG, type -> !type.equals("LogAppendTime"))) {
            String why = name.equals(topics.admissions())
                    ? "its timestamps are the times at which requests start to wait"
                    : "otherwise brokers could reject records because of a request's timestamp, or delete them at once";
            addFault(name, MESSAGE_TIMESTAMP_TYPE_CONFIG, "must be LogAppendTime: " + why, "LogAppendTime");
        }
    }

    private void judgeSize(String name, int least) {
        if (isSet(name, MAX_MESSAGE_BYTES_CONFIG, bytes -> Long.parseLong(bytes) < least)) {
            addFault(
                    name,
                    MAX_MESSAGE_BYTES_CONFIG,
                    "must be at least " + least + ": a larger record would stop the enforcer",
                    String.valueOf(least));
        }
    }

    private void judgePartitions(String name, List<String> after) {
        Existing topic = existing.get(name);
        if (topic != null && topic.partitions() != 1) {
            miscounted.add(name);
            List<String> mend = new ArrayList<>(List.of(commands.deleteTopic(name)));
            mend.addAll(after);
            faults.add(new Fault(
                    name,
                    "has " + topic.partitions() + " partitions, must have 1: all changes of rules must be in one order",
                    mend));
        }
    }

    /** Checks the topics of the deciding application, which has one task for each partition of its state. */
    private void judgePartitionsOfState() {
        Existing requests = existing.get(topics.requests());
        Existing state = existing.getOrDefault(sizeOfState, existing.get(topics.routedRequests()));
        if (requests == null || state == null) {
            return;
        }
        changelogs.forEach((changelog, source) -> {
            Existing other = existing.get(changelog);
            if (source.equals(topics.requests()) && other != null && other.partitions() != state.partitions()) {
                faults.add(new Fault(
                        changelog,
                        "has " + other.partitions() + " partitions, " + state.name() + " has " + state.partitions()
                                + ": a repartitioning is unfinished",
                        List.of("stop all instances and run:", "weir repartition")));
            }
        });
        for (String read : List.of(topics.requests(), topics.routedRequests(), topics.leaseResponses())) {
            Existing topic = existing.get(read);
            if (topic != null && topic.partitions() < state.partitions()) {
                faults.add(new Fault(
                        read,
                        "has " + topic.partitions() + " partitions, must have at least " + state.partitions()
                                + ", one for each partition of the state",
                        List.of(commands.addPartitions(read, state.partitions()))));
            }
        }
        if (requests.partitions() > state.partitions()) {
            StatePartitions.difference(requests.name(), requests.partitions(), state.partitions(), commands)
                    .ifPresent(warnings::add);
        }
    }

    /** Checks that routed requests are kept at least as long as requests on the request topic. */
    private void judgeRetention() {
        if (isSet(
                topics.requests(),
                RETENTION_MS_CONFIG,
                kept -> isSet(
                        topics.routedRequests(),
                        RETENTION_MS_CONFIG,
                        routed -> retentionMs(routed) < retentionMs(kept)))) {
            String wanted = existing.get(topics.requests()).settings().get(RETENTION_MS_CONFIG);
            warnings.add(new Warning(
                    topics.routedRequests() + " has a shorter retention.ms than " + topics.requests()
                            + ": during a long outage, routed requests can be deleted before they are read",
                    List.of(commands.setTopic(topics.routedRequests(), RETENTION_MS_CONFIG, wanted))));
        }
    }

    /** Returns a retention time, {@link Long#MAX_VALUE} if it is -1 (unlimited). */
    private static long retentionMs(String setting) {
        return setting.equals("-1") ? Long.MAX_VALUE : Long.parseLong(setting);
    }

    private void judgeChangelog(String name, String source) {
        judgeCompacted(name);
        Existing changelog = existing.get(name);
        Existing input = existing.get(source);
        if (source.equals(topics.requests())
                || changelog == null
                || input == null
                || changelog.partitions() == input.partitions()
                || !miscounted.add(source)) {
            return;
        }
        String splits = source.equals(topics.admissions()) ? "a queue" : "a shared limit";
        faults.add(new Fault(
                source,
                "has " + input.partitions() + " partitions, must have " + changelog.partitions()
                        + " like the state that was built from it (" + name + "): " + splits + " would be split",
                List.of(
                        "a topic cannot shrink: delete it, which loses the records that the group has not read:",
                        commands.describeGroup(applicationId + WeirConfig.SHAPING_SUFFIX),
                        commands.deleteTopic(source),
                        "then start Weir with topics.partitions: " + changelog.partitions()
                                + ", which creates the topic")));
    }

    private void judgeReplicas(Existing topic, boolean isAlone) {
        String needed = topic.settings().get(MIN_IN_SYNC_REPLICAS_CONFIG);
        if (needed == null) {
            return;
        }
        if (Integer.parseInt(needed) > topic.replicas()) {
            addFault(
                    topic.name(),
                    MIN_IN_SYNC_REPLICAS_CONFIG,
                    "must be at most " + topic.replicas() + ", the number of replicas: otherwise all writes fail",
                    String.valueOf(topic.replicas()));
        } else if (!isAlone && topic.replicas() == 1) {
            onOneBroker.add(topic.name());
        } else if (!isAlone && needed.equals("1")) {
            onOneInSync.add(topic.name());
        }
    }

    private void addWarning(Set<String> names, String have, String what, List<String> mend) {
        if (!names.isEmpty()) {
            String all = String.join(", ", names) + (names.size() == 1 ? " has " : " have ");
            warnings.add(new Warning(all + have + ": " + what, mend));
        }
    }

    private boolean isSet(String name, String setting, Predicate<String> is) {
        Existing topic = existing.get(name);
        String value = topic == null ? null : topic.settings().get(setting);
        return value != null && is.test(value);
    }

    private void addFault(String name, String setting, String must, String to) {
        faults.add(new Fault(
                name,
                setting + " is " + existing.get(name).settings().get(setting) + ", " + must,
                List.of(commands.setTopic(name, setting, to))));
    }
}
