package dev.weir.processor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.DecisionOrder;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DecisionSequenceTest {

    @TempDir
    private Path directory;

    private KeyValueStore<Bytes, byte[]> store;

    @BeforeEach
    void openStore() {
        store = Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("order"), Serdes.Bytes(), Serdes.ByteArray())
                .withLoggingDisabled()
                .withCachingDisabled()
                .build();
        MockProcessorContext<?, ?> context =
                new MockProcessorContext<>(new Properties(), new TaskId(0, 0), directory.toFile());
        store.init(context.getStateStoreContext(), store);
    }

    @Test
    void steps_count_from_each_request_of_the_own_partition() {
        DecisionSequence sequence = new DecisionSequence(store);
        assertThat(sequence.next()).isEqualTo(new DecisionOrder(-1, 1));
        sequence.advanceTo(7);
        assertThat(sequence.next()).isEqualTo(new DecisionOrder(7, 1));
        assertThat(sequence.next()).isEqualTo(new DecisionOrder(7, 2));
        sequence.advanceTo(9);
        assertThat(sequence.next()).isEqualTo(new DecisionOrder(9, 1));
    }

    @Test
    void the_next_task_continues_from_the_stored_position() {
        DecisionSequence sequence = new DecisionSequence(store);
        sequence.advanceTo(7);
        sequence.next();
        sequence.write();
        sequence.next(); // not committed
        assertThat(new DecisionSequence(store).next()).isEqualTo(new DecisionOrder(7, 2));
    }

    @Test
    void nothing_is_written_while_the_position_stays() {
        DecisionSequence sequence = new DecisionSequence(store);
        sequence.write();
        assertThat(store.all().hasNext()).isFalse();
        sequence.advanceTo(7);
        sequence.write();
        assertThat(store.all().hasNext()).isTrue();
        store.delete(store.all().next().key);
        sequence.write();
        assertThat(store.all().hasNext()).isFalse();
    }
}
