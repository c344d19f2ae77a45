package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.stream.Stream;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.StreamsException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

class StateDirectoryFailuresTest {

    private static Throwable of(Status.Code code, String message) {
        RocksDBException cause = new RocksDBException(message, new Status(code, Status.SubCode.None, null));
        return new StreamsException("a", new ProcessorStateException("b", cause));
    }

    static Stream<Throwable> full() {
        return Stream.of(
                of(Status.Code.IOError, "While appending to file: a.sst: No space left on device"),
                new ProcessorStateException("a", new IOException("No space left on device")));
    }

    static Stream<Throwable> damage() {
        return Stream.of(
                of(Status.Code.Corruption, "block checksum mismatch"),
                of(Status.Code.IOError, "No such file or directory: While open a file for random read: a.sst"));
    }

    static Stream<Throwable> neither() {
        return Stream.of(
                of(Status.Code.IOError, "While lock file: a/LOCK: Resource temporarily unavailable"),
                of(Status.Code.IOError, "While open a file for appending: a.sst: Permission denied"),
                new ProcessorStateException("a", new RocksDBException("of no status")),
                new TimeoutException("No space left on device"),
                new IllegalStateException());
    }

    @ParameterizedTest
    @MethodSource("full")
    void a_full_disk_is_reported_and_its_state_is_kept(Throwable failure) {
        assertThat(StateDirectoryFailures.advice(failure, "/state"))
                .hasValueSatisfying(advice -> assertThat(advice).startsWith("the state directory /state is full"));
        assertThat(StateDirectoryFailures.isDamage(failure)).isFalse();
    }

    @ParameterizedTest
    @MethodSource("damage")
    void a_store_that_cannot_be_read_is_damaged(Throwable failure) {
        assertThat(StateDirectoryFailures.isDamage(failure)).isTrue();
        assertThat(StateDirectoryFailures.advice(failure, "/state"))
                .hasValueSatisfying(advice -> assertThat(advice).contains("/state is damaged"));
    }

    @ParameterizedTest
    @MethodSource("neither")
    void state_is_not_deleted_after_a_transient_failure(Throwable failure) {
        assertThat(StateDirectoryFailures.isDamage(failure)).isFalse();
        assertThat(StateDirectoryFailures.advice(failure, "/state")).isEmpty();
    }

    @Test
    void without_a_failure_there_is_no_damage() {
        assertThat(StateDirectoryFailures.isDamage(null)).isFalse();
    }
}
