package dev.weir.config;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The Kafka properties that operators cannot set, or only to some values, because other values would break
 * Weir's guarantees.
 */
final class KafkaPropertyRules {

    /** The minimum request size of producers: that of the largest record on the topics that Weir writes. */
    private static final long MIN_REQUEST_BYTES = 3 << 20;

    /** The prefixes of properties for one kind of client, the longest first. */
    private static final List<String> CLIENTS =
            List.of("main.consumer.", "restore.consumer.", "global.consumer.", "consumer.", "producer.", "admin.");

    /** @param fault the message for a violation, to be appended to the key */
    private record Rule(Predicate<String> permits, String fault) {}

    private static final Map<String, Rule> RULES = new HashMap<>();

    private static final Pattern PROTOCOL = Pattern.compile("[A-Za-z0-9_]+://");

    static {
        RULES.put(
                "bootstrap.servers",
                new Rule(
                        KafkaPropertyRules::areBrokers,
                        "must be host:port, or several of them separated by commas, such as kafka-1:9092,kafka-2:9092"));
        mustUseSetting("application.id", "application-id");
        mustUseSetting("num.stream.threads", "threads");
        mustUseSetting("state.dir", "state.directory");
        mustUseSetting("application.server", "service.advertise");
        mustUseSetting("commit.interval.ms", "commit.max");

        mustBe("processing.guarantee", "exactly_once_v2", "at_least_once");
        mustBe("isolation.level", "read_committed");
        mustBe("enable.idempotence", "true");
        mustBe("acks", "all", "-1");
        mustBe("group.protocol", "classic");
        mustBe("topic.cleanup.policy", "compact");
        RULES.put(
                "max.request.size",
                new Rule(
                        KafkaPropertyRules::isLargeEnough,
                        "must be at least " + MIN_REQUEST_BYTES + ", the maximum record size of Weir's topics"));

        String perRun = "must not be set: Weir sets it for each thread";
        mustNotBeSet(perRun, "group.id", "transactional.id");
        String skips = "must not be set: Weir reads its topics from the beginning and commits offsets in transactions";
        mustNotBeSet(skips, "auto.offset.reset", "enable.auto.commit");
        String loses = "must not be set: another handler could lose records";
        mustNotBeSet(
                loses,
                "deserialization.exception.handler",
                "default.deserialization.exception.handler",
                "production.exception.handler",
                "default.production.exception.handler",
                "processing.exception.handler");
        String scatters = "must not be set: each client and each queue must stay on one partition";
        mustNotBeSet(scatters, "partitioner.class", "partitioner.ignore.keys");
    }

    private KafkaPropertyRules() {}

    /** Returns the fault of a property, to be appended to its key; empty if it has none. */
    static Optional<String> violation(String key, String value) {
        Rule rule = RULES.get(withoutClientPrefix(key));
        return rule == null || rule.permits.test(value.strip()) ? Optional.empty() : Optional.of(rule.fault);
    }

    private static String withoutClientPrefix(String key) {
        return CLIENTS.stream()
                .filter(key::startsWith)
                .findFirst()
                .map(prefix -> key.substring(prefix.length()))
                .orElse(key);
    }

    private static void mustUseSetting(String key, String own) {
        RULES.put(key, new Rule(value -> false, "must not be set: use " + own + " instead"));
    }

    private static void mustBe(String key, String... values) {
        RULES.put(key, new Rule(List.of(values)::contains, "must be " + String.join(" or ", values)));
    }

    private static void mustNotBeSet(String why, String... keys) {
        for (String key : keys) {
            RULES.put(key, new Rule(value -> false, why));
        }
    }

    private static boolean areBrokers(String value) {
        return Stream.of(value.split(",", -1))
                .map(String::strip)
                .filter(address -> !address.isEmpty()) // Kafka ignores it
                .map(address -> PROTOCOL.matcher(address).replaceFirst("")) // Kafka ignores it, too
                .allMatch(address ->
                        WeirConfig.Service.Listener.ADDRESS.matcher(address).matches());
    }

    private static boolean isLargeEnough(String value) {
        return !value.matches("[0-9]{1,18}") || Long.parseLong(value) >= MIN_REQUEST_BYTES; // Kafka rejects the rest
    }
}
