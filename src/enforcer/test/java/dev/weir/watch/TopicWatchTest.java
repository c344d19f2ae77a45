package dev.weir.watch;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.Health;
import dev.weir.testing.CapturedLog;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicRequirements;
import dev.weir.topics.TopicSetup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.errors.TopicExistsException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Tag("full")
class TopicWatchTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final WeirConfig CONFIG = WeirConfig.builder()
            .named("topicwatch")
            .kafka(TestBroker.clientSettings())
            .build();

    private static Admin admin;

    @TempDir
    Path directory;

    @BeforeAll
    static void start() throws Exception {
        admin = Admin.create(KafkaSettings.admin(CONFIG));
        TopicSetup.createMissing(admin, CONFIG, TopicSetup.RequestTime.LOG_APPEND);
        admin.createTopics(new TopicRequirements(CONFIG)
                        .changelogs().keySet().stream()
                                .map(TopicWatchTest::topic)
                                .toList())
                .all()
                .get();
    }

    @AfterAll
    static void stop() {
        admin.close();
    }

    private static NewTopic topic(String name) {
        return new NewTopic(name, 1, (short) 1);
    }

    /** All topics that the enforcer needs. */
    static Stream<String> names() {
        TreeSet<String> names = new TreeSet<>(TopicSetup.names(CONFIG));
        names.addAll(new TopicRequirements(CONFIG).changelogs().keySet());
        return names.stream();
    }

    @ParameterizedTest
    @MethodSource("names")
    void a_deleted_topic_is_named_with_the_fix_until_the_instance_is_restarted(String name) throws Exception {
        TopicWatch watch = new TopicWatch(admin, CONFIG);
        await("all topics are seen", PATIENCE, () -> watch.look().isEmpty());
        admin.deleteTopics(List.of(name)).all().get();
        List<ClusterProblem> deleted = awaitValue("the problem is reported", PATIENCE, () -> problems(watch));
        assertThat(deleted).singleElement().satisfies(problem -> {
            assertThat(problem.topic()).isEqualTo(name);
            assertThat(problem.toString())
                    .startsWith(name + " was deleted. Stop all instances and start them again, which creates it");
        });
        await("it is created again", PATIENCE, () -> isCreated(name));
        await("the problem remains", PATIENCE, () -> watch.look().stream()
                .anyMatch(problem -> problem.what().equals(name + " was deleted and created again")));
    }

    private static List<ClusterProblem> problems(TopicWatch watch) {
        List<ClusterProblem> problems = watch.look();
        return problems.isEmpty() ? null : problems;
    }

    private static boolean isCreated(String name) throws Exception {
        try {
            admin.createTopics(List.of(topic(name))).all().get();
            return true;
        } catch (java.util.concurrent.ExecutionException e) {
            if (e.getCause() instanceof TopicExistsException) {
                return false;
            }
            throw e;
        }
    }

    @Test
    void an_instance_whose_changelog_is_deleted_says_so_and_starts_with_empty_state_after_a_restart() throws Exception {
        WeirConfig config = WeirConfig.builder()
                .named("topicgone")
                .kafka(TestBroker.clientSettings())
                .build()
                .withStateDirectory(directory);
        TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        String changelog = "topicgone-policy-states-changelog";
        try (CapturedLog log = new CapturedLog(ClusterProblems.class)) {
            try (Enforcer enforcer = Enforcer.start(config)) {
                enforcer.awaitRunning(PATIENCE);
                await(
                        "the changelog has been seen",
                        PATIENCE,
                        () -> admin.listTopics().names().get().contains(changelog));
                assertThat(enforcer.problems()).isEmpty();
                admin.deleteTopics(List.of(changelog)).all().get();
                await("the health says so", PATIENCE, () -> enforcer.health() == Health.TOPIC_DELETED);
                assertThat(enforcer.problems()).singleElement().satisfies(problem -> assertThat(problem.topic())
                        .isEqualTo(changelog));
                assertThat(enforcer.metrics().scrape())
                        .contains("weir_cluster_problems{kind=\"TOPIC_DELETED\",topic=\"" + changelog + "\"} 1.0");
                assertThat(log.take()).singleElement().satisfies(line -> {
                    assertThat(line.level()).isEqualTo("ERROR");
                    assertThat(line.text())
                            .isEqualTo(
                                    changelog + " was deleted. Stop all instances and start them again, which creates"
                                            + " it. The state of topicgone-policy-states starts empty, unless you restore a"
                                            + " backup");
                });
            }
            try (Enforcer enforcer = Enforcer.start(config)) {
                enforcer.awaitRunning(PATIENCE);
                assertThat(enforcer.problems()).isEmpty();
            }
        }
    }
}
