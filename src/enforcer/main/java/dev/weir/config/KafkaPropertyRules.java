package dev.weir.config;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Which Kafka properties an operator may not set, or not to every value: with others, what Weir guarantees would not
 * hold.
 */
final class KafkaPropertyRules {

    /** A producer must take whatever fits the topics that Weir writes. */
    private static final long MIN_REQUEST_BYTES = 3 << 20;

    /** Whom a property may be addressed to; the longest first. */
    private static final List<String> CLIENTS =
            List.of("main.consumer.", "restore.consumer.", "global.consumer.", "consumer.", "producer.", "admin.");

    /** @param fault what a property is told that breaks it, after its key */
    private record Rule(Predicate<String> permits, String fault) {}

    private static final Map<String, Rule> RULES = new HashMap<>();

    static {
        mustUseSetting("application.id", "application-id");
        mustUseSetting("num.stream.threads", "threads");
        mustUseSetting("state.dir", "state.directory");
        mustUseSetting("application.server", "service.advertise");

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
                        "must be at least " + MIN_REQUEST_BYTES + ", what Weir's topics take"));

        String perRun = "must not be set: Weir chooses it for each thread";
        mustNotBeSet(perRun, "group.id", "transactional.id");
        String skips = "must not be set: Weir reads its topics from their beginning and commits with its transactions";
        mustNotBeSet(skips, "auto.offset.reset", "enable.auto.commit");
        String loses = "must not be set: with another one records would be lost";
        mustNotBeSet(
                loses,
                "deserialization.exception.handler",
                "default.deserialization.exception.handler",
                "production.exception.handler",
                "default.production.exception.handler",
                "processing.exception.handler");
        String scatters = "must not be set: a client, and a queue, must stay on its partition";
        mustNotBeSet(scatters, "partitioner.class", "partitioner.ignore.keys");
    }

    private KafkaPropertyRules() {}

    /** What is wrong with a property, to be read after its key; empty if nothing is. */
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
        RULES.put(key, new Rule(value -> false, "must be set as " + own));
    }

    private static void mustBe(String key, String... values) {
        RULES.put(key, new Rule(List.of(values)::contains, "must be " + String.join(" or ", values)));
    }

    private static void mustNotBeSet(String why, String... keys) {
        for (String key : keys) {
            RULES.put(key, new Rule(value -> false, why));
        }
    }

    private static boolean isLargeEnough(String value) {
        return !value.matches("[0-9]{1,18}") || Long.parseLong(value) >= MIN_REQUEST_BYTES; // Kafka tells of the others
    }
}
