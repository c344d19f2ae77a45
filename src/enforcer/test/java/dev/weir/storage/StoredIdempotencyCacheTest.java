package dev.weir.storage;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.event.IdempotentAnswer;
import dev.weir.event.PolicyVersion;
import dev.weir.event.RequestKind;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import dev.weir.wire.KeyCodec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the idempotency cache on a RocksDB store that is opened several times. */
class StoredIdempotencyCacheTest {

    private static final ContentHash CONTENT = new ContentHash(1, 2, 3, 4);
    private static final int MOST = 300;

    @TempDir
    private Path directory;

    private KeyValueStore<Bytes, byte[]> store;

    @BeforeEach
    void openStore() {
        store = Stores.keyValueStoreBuilder(
                        Stores.persistentKeyValueStore("answers"), Serdes.Bytes(), Serdes.ByteArray())
                .withLoggingDisabled()
                .withCachingDisabled()
                .build();
        MockProcessorContext<?, ?> context =
                new MockProcessorContext<>(new Properties(), new TaskId(0, 0), directory.toFile());
        store.init(context.getStateStoreContext(), store);
    }

    @AfterEach
    void closeStore() {
        store.close();
    }

    private IdempotencyCache open() {
        return open(MOST, Duration.ofMillis(1));
    }

    private IdempotencyCache open(int most, Duration retention) {
        WeirConfig.State state = WeirConfig.DEFAULTS.state();
        WeirConfig.State config = new WeirConfig.State(
                state.directory(),
                state.memoryBytes(),
                state.hotMemoryBytes(),
                state.cleanupInterval(),
                state.cleanupKeys(),
                retention,
                new WeirConfig.PartitionBounds(most, 1));
        return StoredIdempotencyCache.open(store, config);
    }

    private static RequestKey key(int id) {
        return new RequestKey("c", RequestKind.CONSUME, "r" + id);
    }

    private static IdempotentAnswer answer(int id) {
        return new IdempotentAnswer.SentToQueue("q", new PolicyVersion("p", id), null);
    }

    private int evictionEntries() {
        return size(KeyCodec.encodeNumber(0), KeyCodec.encodeNumber(Long.MAX_VALUE));
    }

    private int answers() {
        return size(KeyCodec.encodeNumber(Long.MAX_VALUE), null);
    }

    private int size(byte[] from, byte[] to) {
        int size = 0;
        try (var range = store.range(Bytes.wrap(from), Bytes.wrap(to))) {
            for (; range.hasNext(); range.next()) {
                size++;
            }
        }
        return size;
    }

    @Test
    void a_reopened_cache_continues_unchanged() {
        for (int i = 0; i < 1_000; i++) {
            IdempotencyCache memory = open();
            memory.put(key(i), CONTENT, answer(i), i, Long.MAX_VALUE / 2);
            assertThat(memory.get(key(i)).number()).isEqualTo(i);
        }
        assertThat(answers()).isEqualTo(MOST);
        assertThat(evictionEntries()).isEqualTo(MOST);
        IdempotencyCache memory = open();
        assertThat(memory.get(key(699))).isNull();
        assertThat(memory.get(key(700)).answer()).isEqualTo(answer(700));
        assertThat(memory.get(key(999)).untilMs()).isEqualTo(Long.MAX_VALUE / 2);
    }

    @Test
    void expired_answers_and_their_notes_are_removed() {
        IdempotencyCache memory = open();
        for (int i = 0; i < 200; i++) {
            memory.put(key(i), CONTENT, answer(i), 0, 10);
        }
        for (int i = 0; i < 900; i++) {
            memory = i % 7 == 0 ? open() : memory;
            memory.put(key(1_000 + i % 20), CONTENT, answer(i), 20, 30);
        }
        assertThat(memory.get(key(0))).isNull();
        assertThat(answers()).isEqualTo(20);
        assertThat(evictionEntries()).isEqualTo(MOST);
    }

    @Test
    void expired_answers_are_kept_for_late_requests() {
        IdempotencyCache memory = open(10_000, Duration.ofMillis(100));
        memory.put(key(0), CONTENT, answer(0), 0, 10);
        for (int i = 1; i < 3_000; i++) {
            memory.put(key(i), CONTENT, answer(i), 109, 200);
        }
        assertThat(memory.get(key(0))).isNotNull();
        for (int i = 3_000; i < 6_000; i++) {
            memory.put(key(i), CONTENT, answer(i), 110, 200);
        }
        assertThat(memory.get(key(0))).isNull();
    }
}
