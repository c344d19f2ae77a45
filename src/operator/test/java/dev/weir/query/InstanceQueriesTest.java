package dev.weir.query;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.weir.config.WeirConfig;
import dev.weir.decision.usage.PolicyUsage;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.view.QueueView;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the queries of enforcers with a real broker. */
@Tag("full")
class InstanceQueriesTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration PAUSE = Duration.ofMillis(20);
    private static final List<String> ADDRESSES = List.of("one.example:8680", "[2001:db8::2]:8680");
    private static final List<String> CLIENTS =
            IntStream.range(0, 200).mapToObj(i -> "c" + i).toList();
    private static final long START_MS = 1_700_000_000_000L;

    private static final String POLICIES = """
            policies:
              - id: calls
                limits:
                  - {algorithm: sliding-window-log, limit: 100, per: 24h}
                  - {algorithm: token-bucket, limit: 50, per: 24h}
              - id: mails
                layer: mail
                match: {endpoint: /mail}
                key: [client, endpoint]
                limits: [{algorithm: gcra, limit: 2, per: 30d}]
                on-exceed: shape
                queue: mail
              - {id: hooks, layer: mail, match: {endpoint: /hook}, queue: hooks}
            queues:
              - {id: hooks, key: [client, endpoint], limit: 1, per: 1h, capacity: 4}
              - {id: mail, limit: 1, per: 1h, capacity: 4, tiers: {gold: {priority: 1}}}
              - {id: idle, limit: 1, per: 1s}
            """;

    @TempDir
    Path directory;

    private int requests;

    @Test
    void each_query_is_answered_by_one_of_two_instances_and_the_other_names_it() throws Exception {
        WeirConfig config = config("two.");
        try (Enforcer one = Enforcer.start(config, Optional.of(ADDRESSES.get(0)));
                Enforcer two = Enforcer.start(
                        config.withStateDirectory(directory.resolve("weir-other")), Optional.of(ADDRESSES.get(1)));
                Decisions decisions = new Decisions(config)) {
            List<InstanceQueries> both = List.of(one.queries(), two.queries());
            await("both instances have clients", PATIENCE, () -> {
                List<Integer> owners = CLIENTS.stream()
                        .map(client -> owner(both, of -> of.usage(request(client, "/", 1, START_MS))))
                        .toList();
                return owners.contains(0) && owners.contains(1) && !owners.contains(-1);
            });
            await("the queues are assigned", PATIENCE, () -> List.of("mail", "idle").stream()
                    .noneMatch(id -> owner(both, of -> of.queue(id)) == -1));

            Map<String, Decision> first = new HashMap<>();
            List<Request> calls = CLIENTS.stream()
                    .map(client -> request(client, "/", 3, START_MS))
                    .toList();
            decisions.of(calls).forEach(decision -> first.put(decision.client(), decision));
            for (String client : CLIENTS) {
                List<PolicyUsage> usages = here(both, of -> of.usage(request(client, "/", 1, START_MS)));
                assertThat(usages).hasSize(1);
                assertThat(usages.get(0).policy().id()).isEqualTo("calls");
                assertThat(usages.get(0).lastChargeMs()).isEqualTo(START_MS);
                assertThat(usages.get(0).limits())
                        .extracting(PolicyUsage.LimitUsage::used, PolicyUsage.LimitUsage::remaining)
                        .containsExactly(
                                tuple(3L, 97L), tuple(3L, first.get(client).remaining()));
            }
            List<Outcome> outcomes = new ArrayList<>();
            long nowMs = START_MS;
            for (long cost : new long[] {1, 40, 8, 2}) {
                nowMs += 1_000;
                List<Request> round = new ArrayList<>();
                List<Decision> predicted = new ArrayList<>();
                for (String client : CLIENTS.subList(0, 10)) {
                    Request request = request(client, "/", cost, nowMs);
                    Decision prediction = here(both, of -> of.check(request));
                    Decision again = here(both, of -> of.check(request));
                    assertThat(again).isEqualTo(prediction);
                    round.add(request);
                    predicted.add(prediction);
                }
                List<Decision> decided = decisions.of(round);
                for (int i = 0; i < round.size(); i++) {
                    assertThat(decided.get(i))
                            .usingRecursiveComparison()
                            .ignoringFields("identity.source", "context") // depend on where the request was written
                            .isEqualTo(predicted.get(i));
                    outcomes.add(decided.get(i).outcome());
                }
            }
            assertThat(outcomes).hasSize(40).contains(Outcome.ALLOWED, Outcome.DENIED);
            askOfTheQueue(both, decisions);
            askOfKeys(both, decisions);
        }
    }

    /**
     * The keys of a queue are on the partitions of both instances. Each instance returns its own part of the queue, and
     * for a single key either the state or the instance that owns it.
     */
    private void askOfKeys(List<InstanceQueries> both, Decisions decisions) {
        List<Request> first = new ArrayList<>();
        List<Decision> predicted = new ArrayList<>();
        for (String client : CLIENTS) {
            Request request = request(client, "/hook", 1, START_MS);
            first.add(request);
            predicted.add(here(both, of -> of.check(request)));
        }
        List<Decision> decided = decisions.of(first);
        for (int i = 0; i < first.size(); i++) {
            assertThat(decided.get(i))
                    .usingRecursiveComparison()
                    .ignoringFields("identity.source", "context", "timing.decidedAtMs")
                    .ignoringFields("queueing") // its bucket may be on the other instance
                    .isEqualTo(predicted.get(i));
            assertThat(decided.get(i).queueing()).isEqualTo(new Decision.Queueing("hooks", hookKey(i), 1L, 0L));
        }
        decisions.of(CLIENTS.stream()
                .map(client -> request(client, "/hook", 1, START_MS))
                .toList());
        for (int i = 0; i < CLIENTS.size(); i++) {
            Map<String, String> key = hookKey(i);
            await("one request is released and one waits", PATIENCE, () -> {
                QueueView bucket = here(both, of -> of.key("hooks", key));
                return released(bucket) == 1 && bucket.waiting() == 1;
            });
        }
        List<QueueView> parts = new ArrayList<>();
        for (int i = 0; i < both.size(); i++) {
            Result.Partial<QueueView> part =
                    (Result.Partial<QueueView>) both.get(i).queue("hooks");
            assertThat(part.others()).containsExactly(ADDRESSES.get(1 - i));
            parts.add(part.value());
        }
        assertThat(parts)
                .allSatisfy(part -> assertThat(part.hasSeveralBuckets()).isTrue());
        QueueView whole = parts.get(0).mergedWith(parts.get(1));
        assertThat(whole.waiting()).isEqualTo(CLIENTS.size());
        assertThat(((QueueView.SeveralBuckets) whole.buckets()).keys()).isEqualTo(CLIENTS.size());
    }

    private static Map<String, String> hookKey(int client) {
        return Map.of("client", CLIENTS.get(client), "endpoint", "/hook");
    }

    private void askOfTheQueue(List<InstanceQueries> both, Decisions decisions) {
        for (InstanceQueries each : both) {
            assertThat(((Result.Partial<QueueView>) each.queue("nobody")).value())
                    .isNull();
        }
        QueueView idle = here(both, of -> of.queue("idle"));
        assertThat(idle.rules().id()).isEqualTo("idle");
        assertThat(idle.waiting()).isZero();

        int home = owner(both, of -> of.queue("mail"));
        List<Reason> reasons = new ArrayList<>();
        String near = clientOf(both, home);
        Request last = null;
        for (int i = 0; i < 8; i++) {
            Request request = request(near, "/mail", 1, START_MS + i);
            Decision foretold = here(both, of -> of.check(request));
            Decision decided = decisions.of(List.of(request)).get(0);
            assertThat(decided)
                    .usingRecursiveComparison()
                    .ignoringFields(
                            "identity.source",
                            "context",
                            "timing.decidedAtMs",
                            "timing.retryAfterMs",
                            "queueing.expectedWaitMs")
                    .isEqualTo(foretold);
            reasons.add(decided.reason());
            last = decided.reason() == Reason.SHAPED ? request : last;
            if (i == 2) {
                await(
                        "the first request is released",
                        PATIENCE,
                        () -> released(here(both, of -> of.queue("mail"))) == 1);
            }
        }
        assertThat(reasons).startsWith(Reason.WITHIN_LIMITS, Reason.WITHIN_LIMITS, Reason.SHAPED);
        assertThat(reasons).endsWith(Reason.SHAPED, Reason.SHAPED, Reason.QUEUE_FULL);
        QueueView mail = here(both, of -> of.queue("mail"));
        assertThat(mail.waiting()).isEqualTo(4);
        assertThat(released(mail)).isEqualTo(1);
        assertThat(mail.tiers())
                .containsExactly(
                        new QueueView.TierView("gold", new TierShare(1, 1), 0),
                        new QueueView.TierView(null, TierShare.DEFAULT, 4));

        Request cancel = cancel(last);
        assertThat(here(both, of -> of.check(cancel)).reason()).isEqualTo(Reason.CANCELLED);
        QueueView after = here(both, of -> of.queue("mail"));
        assertThat(after)
                .usingRecursiveComparison()
                .ignoringFields("oldestWaitMs", "drainMs")
                .isEqualTo(mail);

        String far = clientOf(both, 1 - home);
        decisions.of(List.of(request(far, "/mail", 1, START_MS), request(far, "/mail", 1, START_MS)));
        Decision unplaced = here(both, of -> of.check(request(far, "/mail", 1, START_MS)));
        assertThat(unplaced.outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(unplaced.reason()).isEqualTo(Reason.SHAPED);
        assertThat(unplaced.queueing()).isEqualTo(new Decision.Queueing("mail", null, null));
    }

    @Test
    void an_instance_without_an_address_answers_for_its_own_state_only() throws Exception {
        WeirConfig config = config("alone.");
        Enforcer alone = Enforcer.start(config);
        try (alone) {
            InstanceQueries itself = alone.queries();
            await("the instance owns all clients", PATIENCE, () -> CLIENTS.stream()
                    .allMatch(client -> itself.usage(request(client, "/", 1, START_MS)) instanceof Result.Local));
            try (Enforcer other = Enforcer.start(
                    config.withStateDirectory(directory.resolve("weir-other")), Optional.of(ADDRESSES.get(1)))) {
                InstanceQueries others = other.queries();
                await("both instances own clients", PATIENCE, () -> {
                    Map<String, Integer> answers = new HashMap<>();
                    for (String client : CLIENTS) {
                        Request request = request(client, "/", 1, START_MS);
                        answers.merge(
                                reported(itself.usage(request)) + ", " + reported(others.usage(request)),
                                1,
                                Integer::sum);
                    }
                    return answers.keySet().size() == 2
                            && answers.containsKey("here, the instance that owns the partition serves no queries")
                            && answers.containsKey(ADDRESSES.get(1) + ", here");
                });
            }
        }
        assertThat(reported(alone.queries().queue("mail"))).isEqualTo("the instance is not running");
    }

    private static String reported(Result<?> answer) {
        if (answer instanceof Result.Remote<?> elsewhere) {
            return elsewhere.address();
        }
        return answer instanceof Result.NotReady<?> notNow ? notNow.reason() : "here";
    }

    /** Returns the index of the instance that returns a result while the other refers to it; −1 if there is none. */
    private static <T> int owner(List<InstanceQueries> both, Function<InstanceQueries, Result<T>> question) {
        for (int i = 0; i < 2; i++) {
            Result<T> other = question.apply(both.get(1 - i));
            if (question.apply(both.get(i)) instanceof Result.Local
                    && other.equals(new Result.Remote<>(ADDRESSES.get(i)))) {
                return i;
            }
        }
        return -1;
    }

    private static <T> T here(List<InstanceQueries> both, Function<InstanceQueries, Result<T>> question) {
        List<T> answers = new ArrayList<>(); // a partition may still be moving
        await("one of the instances returns a result", PATIENCE, () -> {
            for (InstanceQueries of : both) {
                if (question.apply(of) instanceof Result.Local<T> here) {
                    answers.add(here.value());
                }
            }
            return !answers.isEmpty();
        });
        assertThat(answers).hasSize(1);
        return answers.get(0);
    }

    /** Returns a client of an instance's partitions that has not sent anything yet. */
    private String clientOf(List<InstanceQueries> both, int owner) {
        return IntStream.range(0, 1_000)
                .mapToObj(i -> "m" + i)
                .filter(client -> owner(both, of -> of.usage(request(client, "/", 1, START_MS))) == owner)
                .findFirst()
                .orElseThrow();
    }

    private Request request(String client, String endpoint, long cost, long timestampMs) {
        return Request.builder("r" + requests++, client)
                .cost(cost)
                .attributes(Map.of("endpoint", endpoint))
                .timestampMs(timestampMs)
                .source(0, 0)
                .build();
    }

    private static Request cancel(Request of) {
        return Request.builder(of.requestId(), of.client())
                .kind(RequestKind.CANCEL)
                .queue("mail")
                .timestampMs(of.timestampMs())
                .source(of.source())
                .build();
    }

    /** Sends requests and reads their decisions. */
    private static final class Decisions implements AutoCloseable {
        private final DecisionCodec avro = new DecisionCodec();
        private final Map<String, Decision> byRequestId = new HashMap<>();
        private final RequestSender sender;
        private final KafkaConsumer<byte[], byte[]> consumer;

        Decisions(WeirConfig config) {
            sender = new RequestSender(config);
            Properties settings = KafkaSettings.consumer(config);
            settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
            consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            String topic = Topics.of(config).decisions();
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
        }

        List<Decision> of(List<Request> requests) {
            requests.forEach(sender::send);
            sender.flush();
            List<String> ids = requests.stream().map(Request::requestId).toList();
            await("the requests are decided", PATIENCE, () -> {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(PAUSE)) {
                    try {
                        Decision decision = avro.decode(record.value());
                        byRequestId.put(decision.requestId(), decision);
                    } catch (UnreadableException e) {
                        throw new AssertionError(e);
                    }
                }
                return byRequestId.keySet().containsAll(ids);
            });
            return ids.stream().map(byRequestId::get).toList();
        }

        @Override
        public void close() {
            sender.close();
            consumer.close();
        }
    }

    private WeirConfig config(String prefix) throws Exception {
        WeirConfig config = WeirConfig.builder()
                .applicationId("weir-" + prefix + "test")
                .threads(1)
                .topics(prefix, 4)
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory.resolve("weir-state"))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.CREATE);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        return config;
    }

    private static long released(QueueView view) {
        return ((QueueView.OneBucket) view.buckets()).released();
    }
}
