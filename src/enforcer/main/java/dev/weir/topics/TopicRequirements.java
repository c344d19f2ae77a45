package dev.weir.topics;

import static org.apache.kafka.common.config.TopicConfig.CLEANUP_POLICY_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.MAX_MESSAGE_BYTES_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.RETENTION_MS_CONFIG;

import dev.weir.config.WeirConfig;
import dev.weir.topology.Stores;
import dev.weir.topology.Topics;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;

/** What Weir relies on of the topics that exist, its own changelogs among them. */
public final class TopicRequirements {

    private static final List<String> OF_REQUESTS = List.of(
            Stores.POLICY_STATES,
            Stores.LOG_SEGMENTS,
            Stores.FIRST_ANSWERS,
            Stores.LEASE_BOOKS,
            Stores.WAITING_REQUESTS,
            Stores.DECISION_ORDER);

    private static final List<String> OF_ADMISSIONS = List.of(
            Stores.QUEUE_STATES,
            Stores.QUEUE_SLOTS,
            Stores.QUEUE_TICKETS,
            Stores.QUEUE_ALARMS,
            Stores.QUEUE_TIMERS,
            Stores.QUEUE_FIRST_ANSWERS);

    private static final List<String> OF_LEASE_REQUESTS = List.of(Stores.LEDGERS, Stores.LEDGER_SEGMENTS);

    private static final List<String> ANEW = List.of(
            "then start again, which creates it, and apply the rules anew (weir policies apply);",
            "versions go on after those of the history, so delete that later, if it must go too");

    private static final List<String> WITHOUT_HISTORY =
            List.of("then start again, which creates it; all rules stay in force, only what they were before is lost");

    /**
     * A topic that exists.
     *
     * @param replicas of the partition that has the fewest
     * @param settings by name; those that may not be read are not there, and not judged
     */
    record Existing(String name, int partitions, int replicas, Map<String, String> settings) {}

    /**
     * What is wrong with a topic.
     *
     * @param fix what to do, a line each
     */
    public record Fault(String topic, String what, List<String> fix) {
        @Override
        public String toString() {
            return topic + ": " + what + "\n    " + String.join("\n    ", fix);
        }
    }

    /**
     * What an operator should know of a topic, or of several.
     *
     * @param what a sentence that names them
     * @param fix what to do, a line each
     */
    public record Warning(String what, List<String> fix) {}

    private final Topics topics;
    private final KafkaCommands commands;
    private final String applicationId;
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
        OF_REQUESTS.forEach(store -> changelogs.put(changelog(applicationId, store), topics.requests()));
        String shapingId = KafkaSettings.shapingId(config);
        OF_ADMISSIONS.forEach(store -> changelogs.put(changelog(shapingId, store), topics.admissions()));
        OF_LEASE_REQUESTS.forEach(store -> changelogs.put(changelog(shapingId, store), topics.leaseRequests()));
        changelogs.put(changelog(shapingId, Stores.GOOD_POLICIES), topics.policies());
    }

    private static String changelog(String applicationId, String store) {
        return applicationId + "-" + store + "-changelog";
    }

    /** The changelogs, each with the topic whose partitions it has. */
    public Map<String, String> changelogs() {
        return changelogs;
    }

    /**
     * Judges all at once.
     *
     * @param isAlone there is only one broker, which has whatever there is
     */
    void judge(Iterable<Existing> all, boolean isAlone) {
        all.forEach(topic -> existing.put(topic.name(), topic));
        for (String name : List.of(topics.requests(), topics.decisions(), topics.releases(), topics.deadLetters())) {
            judgeNotCompacted(name, "of each key only the last record would stay");
        }
        judgeNotCompacted(topics.routedRequests(), "of each client only the last request would stay");
        judgeNotCompacted(topics.admissions(), "of each queue only the last request would stay");
        judgeNotCompacted(topics.leaseUsage(), "of each key only the last report would stay");
        for (String name : List.of(topics.leaseRequests(), topics.leaseResponses())) {
            judgeNotCompacted(name, "lease requests and responses would be lost");
        }
        for (String name : writtenByWeir()) {
            judgeAppendTime(name);
            judgeSize(name, TopicSetup.MAX_RECORD_BYTES);
        }
        judgeAppendTime(topics.leaseUsage());
        judgeAsManyAsRequests(
                topics.leaseResponses(),
                "each task reads the answers to what it asks in its own",
                List.of(
                        commands.deleteTopic(topics.leaseResponses()),
                        "then start again, which creates it; what was lent comes back when it ends"));
        judgeAsManyAsRequests(
                topics.routedRequests(),
                "a request is routed to the partition that has its client's state",
                List.of(
                        "once all of it is read, without which the rest is lost:",
                        commands.describeGroup(applicationId),
                        commands.deleteTopic(topics.routedRequests()),
                        "then start again, which creates it"));
        judgeRetention();
        judgePartitions(topics.policies(), ANEW);
        judgePartitions(topics.policyHistory(), WITHOUT_HISTORY);
        for (String name : List.of(topics.policies(), topics.policyHistory())) {
            judgeCompacted(name);
            judgeSize(name, TopicSetup.MAX_RULE_BYTES);
        }
        changelogs.forEach(this::judgeChangelog);
        existing.values().forEach(topic -> judgeReplicas(topic, isAlone));
        addWarning(onOneBroker, "one replica", "what is there is lost with its broker", commands.reassignment());
        addWarning(
                onOneInSync,
                "min.insync.replicas=1",
                "what one broker has written may be lost with it",
                onOneInSync.stream()
                        .map(name -> commands.setTopic(name, MIN_IN_SYNC_REPLICAS_CONFIG, "2"))
                        .toList());
        if (isSet(topics.requests(), MESSAGE_TIMESTAMP_TYPE_CONFIG, "CreateTime"::equals)) {
            warnings.add(new Warning(
                    topics.requests() + " has message.timestamp.type=CreateTime: the producers' clocks count",
                    List.of(commands.setTopic(topics.requests(), MESSAGE_TIMESTAMP_TYPE_CONFIG, "LogAppendTime"))));
        }
    }

    /** What keeps Weir from working. */
    List<Fault> faults() {
        return faults;
    }

    /** What an operator should know. */
    List<Warning> warnings() {
        return warnings;
    }

    private Set<String> writtenByWeir() {
        return Set.of(
                topics.routedRequests(),
                topics.decisions(),
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
                    "must be compact: what is still in use would be deleted by its age",
                    "compact");
        }
    }

    private void judgeAppendTime(String name) {
        if (isSet(name, MESSAGE_TIMESTAMP_TYPE_CONFIG, type -> !type.equals("LogAppendTime"))) {
            String why = name.equals(topics.admissions())
                    ? "it tells when a request began to wait"
                    : "by a request's time the broker may refuse a record, or delete it at once";
            addFault(name, MESSAGE_TIMESTAMP_TYPE_CONFIG, "must be LogAppendTime: " + why, "LogAppendTime");
        }
    }

    private void judgeSize(String name, int least) {
        if (isSet(name, MAX_MESSAGE_BYTES_CONFIG, bytes -> Long.parseLong(bytes) < least)) {
            addFault(
                    name,
                    MAX_MESSAGE_BYTES_CONFIG,
                    "must be at least " + least + ": a large record would end the enforcer",
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
                    name, "has " + topic.partitions() + " partitions, must have 1: rules have one order", mend));
        }
    }

    private void judgeAsManyAsRequests(String name, String why, List<String> mend) {
        Existing topic = existing.get(name);
        Existing requests = existing.get(topics.requests());
        if (topic != null && requests != null && topic.partitions() != requests.partitions()) {
            faults.add(new Fault(
                    name,
                    "has " + topic.partitions() + " partitions, must have " + requests.partitions() + " as "
                            + requests.name() + ": " + why,
                    mend));
        }
    }

    /** A routed request must not be deleted before one that waits on the request topic as long. */
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
                            + ": during a long outage, routed requests are deleted before they are read",
                    List.of(commands.setTopic(topics.routedRequests(), RETENTION_MS_CONFIG, wanted))));
        }
    }

    /** As Kafka has it, -1 is for ever. */
    private static long retentionMs(String setting) {
        return setting.equals("-1") ? Long.MAX_VALUE : Long.parseLong(setting);
    }

    private void judgeChangelog(String name, String source) {
        judgeCompacted(name);
        Existing changelog = existing.get(name);
        Existing input = existing.get(source);
        if (changelog == null
                || input == null
                || changelog.partitions() == input.partitions()
                || !miscounted.add(source)) {
            return;
        }
        String group = source.equals(topics.requests()) ? applicationId : applicationId + WeirConfig.SHAPING_SUFFIX;
        String splits = source.equals(topics.requests())
                ? "a client's count"
                : source.equals(topics.admissions()) ? "a queue" : "a shared quota";
        faults.add(new Fault(
                source,
                "has " + input.partitions() + " partitions, must have " + changelog.partitions()
                        + " as the state that was built from it (" + name + "): " + splits + " would be split",
                List.of(
                        "a topic cannot shrink; once all of it is read, without which the rest is lost:",
                        commands.describeGroup(group),
                        commands.deleteTopic(source),
                        "then start with topics.partitions: " + changelog.partitions() + ", which creates it")));
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
                    "must be at most " + topic.replicas() + ", the replicas that there are: nothing can be written",
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
