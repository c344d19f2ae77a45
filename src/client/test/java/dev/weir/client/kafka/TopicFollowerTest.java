package dev.weir.client.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.junit.jupiter.api.Test;

class TopicFollowerTest {

    @Test
    void an_error_ends_the_thread_and_is_reported() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        TopicFollower follower = new TopicFollower(
                TopicFollower.settings(Map.of("bootstrap.servers", "127.0.0.1:1")),
                "follower",
                new TopicFollower.Handler() {
                    @Override
                    public void beforePoll() {
                        begun.countDown();
                        throw new OutOfMemoryError("test");
                    }

                    @Override
                    public void polled(ConsumerRecords<byte[], byte[]> records) {}
                });
        follower.start();
        assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
        follower.close();
        assertThat(follower.failure()).hasValueSatisfying(failure -> assertThat(failure)
                .hasMessage("the thread follower has stopped: java.lang.OutOfMemoryError: test")
                .hasCauseInstanceOf(OutOfMemoryError.class));
        assertThat(follower.hasStopped()).isTrue();
    }
}
