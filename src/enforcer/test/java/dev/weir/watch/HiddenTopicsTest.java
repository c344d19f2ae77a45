package dev.weir.watch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.junit.jupiter.api.Test;

class HiddenTopicsTest {

    private static final String TOPIC = "weir.decisions";

    @Test
    void a_topic_that_may_not_be_described_for_a_while_is_not_taken_for_a_deleted_one() {
        try (Admin unused = Admin.create(Map.of("bootstrap.servers", "127.0.0.1:1"))) {
            TopicWatch watch = new TopicWatch(unused, WeirConfig.DEFAULTS);
            Uuid id = Uuid.randomUuid();
            assertThat(look(watch, hidden())).isEmpty();
            assertThat(look(watch, found(id))).as("its first id").isEmpty();
            assertThat(look(watch, missing())).isEmpty();
            assertThat(look(watch, hidden())).as("not a second look without it").isEmpty();
            assertThat(look(watch, found(id))).isEmpty();
            assertThat(look(watch, found(Uuid.randomUuid())))
                    .extracting(ClusterProblem::what)
                    .containsExactly(TOPIC + " was deleted and created again");
        }
    }

    private static List<ClusterProblem> look(TopicWatch watch, KafkaFuture<TopicDescription> answer) {
        return watch.problems(Map.of(TOPIC, answer));
    }

    private static KafkaFuture<TopicDescription> found(Uuid id) {
        return KafkaFuture.completedFuture(new TopicDescription(TOPIC, false, List.of(), null, id));
    }

    private static KafkaFuture<TopicDescription> hidden() {
        return failed(new TopicAuthorizationException(TOPIC));
    }

    private static KafkaFuture<TopicDescription> missing() {
        return failed(new UnknownTopicOrPartitionException());
    }

    private static KafkaFuture<TopicDescription> failed(Exception why) {
        KafkaFutureImpl<TopicDescription> answer = new KafkaFutureImpl<>();
        answer.completeExceptionally(why);
        return answer;
    }
}
