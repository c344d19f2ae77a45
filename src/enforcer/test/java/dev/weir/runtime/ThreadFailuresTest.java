package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.stream.Stream;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.InvalidTxnStateException;
import org.apache.kafka.common.errors.NotEnoughReplicasException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.streams.errors.MissingSourceTopicException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.StreamsException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ThreadFailuresTest {

    private static final long START = Long.MAX_VALUE - 1; // because System.nanoTime() can overflow

    private final ThreadFailures failures = new ThreadFailures();

    static Stream<Throwable> passing() {
        return Stream.of(
                new TimeoutException("a"),
                new StreamsException("task 0_1 did not make progress", new TimeoutException("a")),
                new StreamsException("a", new KafkaException("b", new NotEnoughReplicasException("c"))),
                new StreamsException("a", new KafkaException("b", new InvalidTxnStateException("c"))),
                new StreamsException(
                        "a", new KafkaException("b", new KafkaException("Unhandled error in EndTxnResponse"))),
                new FencedInstanceIdException("a"));
    }

    static Stream<Throwable> lasting() {
        return Stream.of(
                new IllegalStateException("a bug"),
                new StreamsException("a", new NullPointerException("a bug on a record")),
                new StreamsException("a", new KafkaException("b", new NullPointerException("a bug"))),
                new StreamsException("a", new RecordTooLargeException("b")),
                new StreamsException("a", new UnsupportedVersionException("b")),
                new StreamsException("a", new InvalidConfigurationException("b")),
                new StreamsException("a", new InvalidTopicException("b")),
                new StreamsException("a", new TopicAuthorizationException("b")),
                new StreamsException("a", new SaslAuthenticationException("b")),
                new StreamsException("a", new TimeoutException("b", new UnknownTopicOrPartitionException("c"))),
                new TimeoutException("a", new TopicAuthorizationException("b")),
                new ProcessorStateException("a", new TimeoutException("b")),
                new MissingSourceTopicException("a"),
                new OutOfMemoryError("a"),
                new StreamsException("a", new TimeoutException("b", new StackOverflowError("c"))));
    }

    @ParameterizedTest
    @MethodSource("passing")
    void transient_failures_are_retried(Throwable failure) {
        assertThat(failures.isReplaced(failure, START)).isTrue();
    }

    @ParameterizedTest
    @MethodSource("lasting")
    void permanent_failures_are_not_retried(Throwable failure) {
        assertThat(failures.isReplaced(failure, START)).isFalse();
    }

    @Test
    void retries_within_the_period_are_bounded() {
        TimeoutException failure = new TimeoutException("a");
        long within = ThreadFailures.WITHIN.toNanos();
        for (int i = 0; i < ThreadFailures.MOST; i++) {
            assertThat(failures.isReplaced(failure, START + i)).isTrue();
        }
        assertThat(failures.isReplaced(failure, START + within - 1)).isFalse();
        assertThat(failures.isReplaced(failure, START + within)).isTrue();
        assertThat(failures.isReplaced(failure, START + within)).isFalse();
        assertThat(failures.isReplaced(failure, START + within + 1)).isTrue();
    }

    @Test
    void permanent_failures_do_not_count_as_retries() {
        for (int i = 0; i < 2 * ThreadFailures.MOST; i++) {
            assertThat(failures.isReplaced(new IllegalStateException("a bug"), START))
                    .isFalse();
        }
        assertThat(failures.isReplaced(
                        new TimeoutException("a"), START + Duration.ofSeconds(1).toNanos()))
                .isTrue();
    }
}
