package dev.weir.runtime;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.pacing.CommitPacing;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.topology.RocksSettings;
import dev.weir.topology.Stores;
import dev.weir.topology.StreamsSettings;
import dev.weir.topology.WeirTopology;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests with a real broker and RocksDB what an instance that was killed restores when it starts on the same disk. */
@Tag("full")
class StoresAfterKillTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int CLIENTS = 1000;
    private static final int CLIENTS_AFTERWARDS = 200;
    private static final String POLICIES =
            "policies: [{id: all, limits: [{algorithm: token-bucket, limit: 1000, per: 30d}]}]";

    /** So little that RocksDB writes its memtables to the disk all the time. */
    private static final long LITTLE_MEMORY = 1 << 20;

    @TempDir
    private Path directory;

    private WeirConfig config;
    private long sent;

    @BeforeEach
    void start() throws Exception {
        String name = "killed-" + UUID.randomUUID();
        config = WeirConfig.builder()
                .applicationId(name)
                .threads(1)
                .topics(name + ".", 1)
                .kafka(TestBroker.clientSettings())
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
    }

    @Test
    void only_what_the_stores_had_not_written_is_restored() throws Exception {
        Path disk = directory.resolve("disk");
        try (Instance first = new Instance(disk)) {
            decide(CLIENTS);
            assertThat(first.states()).hasSize(CLIENTS);
        }
        Path afterKill;
        Map<Bytes, String> states;
        try (Instance second = new Instance(disk)) {
            assertThat(second.restored.sum()).as("after a clean stop").isLessThan(CLIENTS);
            decide(CLIENTS_AFTERWARDS);
            states = second.states();
            afterKill = copyWhileOpen(disk); // what is only in memory is lost, and the stores were not closed
        }
        for (int start = 1; start <= 2; start++) {
            try (Instance restarted = new Instance(afterKill)) {
                assertThat(restarted.restored.sum())
                        .as("start %d after the kill", start)
                        .isLessThan(CLIENTS);
                assertThat(restarted.states()).isEqualTo(states);
            }
        }
    }

    /** Sends one request of each of the first clients, and waits until they are decided in a committed transaction. */
    private void decide(int clients) throws Exception {
        try (RequestSender sender = new RequestSender(config)) {
            for (int i = 0; i < clients; i++) {
                sender.send(RequestBuilder.of("client-" + i).build());
            }
        }
        sent += clients;
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            await("all requests are decided", PATIENCE, () -> committed(admin) == sent);
        }
    }

    private long committed(Admin admin) throws Exception {
        return admin
                .listConsumerGroupOffsets(config.applicationId())
                .partitionsToOffsetAndMetadata()
                .get()
                .entrySet()
                .stream()
                .filter(each -> each.getKey().topic().equals(Topics.of(config).requests()))
                .map(Map.Entry::getValue)
                .filter(Objects::nonNull)
                .mapToLong(offset -> offset.offset())
                .sum();
    }

    /** Returns a copy of the files of open stores, all of one moment, as a kill leaves them. */
    private Path copyWhileOpen(Path from) {
        return awaitValue("RocksDB writes no file during a copy", PATIENCE, () -> {
            Path to = Files.createTempDirectory(directory, "after-kill");
            Map<Path, String> before = files(from);
            for (Path each : before.keySet()) {
                Path copy = to.resolve(from.relativize(each));
                Files.createDirectories(copy.getParent());
                try {
                    Files.copy(each, copy);
                } catch (NoSuchFileException e) {
                    return null; // RocksDB deleted it
                }
            }
            return files(from).equals(before) ? to : null;
        });
    }

    /** Returns the files in a directory, each with what changes when it is written. */
    private static Map<Path, String> files(Path directory) throws IOException {
        Map<Path, String> files = new TreeMap<>();
        Files.walkFileTree(directory, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path each, BasicFileAttributes attributes) {
                files.put(each, attributes.size() + " bytes of " + attributes.lastModifiedTime());
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path each, IOException e) throws IOException {
                if (e instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE; // RocksDB deleted it
                }
                throw e;
            }
        });
        return files;
    }

    /** The deciding application, which leaves its group when it is closed. */
    private final class Instance implements AutoCloseable, StateRestoreListener {
        private final LongAdder restored = new LongAdder();
        private final KafkaStreams streams;

        Instance(Path disk) {
            WeirConfig here = config.withStateDirectory(disk);
            Properties settings = StreamsSettings.deciding(here);
            settings.put(RocksSettings.MEMORY_BYTES, LITTLE_MEMORY);
            CommitPacing commits = new CommitPacing(here.commits());
            WeirTopology.Shared shared = new WeirTopology.Shared(new PolicyRegistry(), new EnforcerMetrics(), commits);
            streams = new KafkaStreams(WeirTopology.deciding(here, 1, shared), settings, new WakeableClients(commits));
            streams.setGlobalStateRestoreListener(this);
            streams.start();
            await("the application runs", PATIENCE, () -> streams.state() == KafkaStreams.State.RUNNING);
        }

        /** Returns the usage of all clients, as texts that can be compared. */
        Map<Bytes, String> states() {
            ReadOnlyKeyValueStore<Bytes, byte[]> store = streams.store(StoreQueryParameters.fromNameAndType(
                    Stores.POLICY_STATES, QueryableStoreTypes.<Bytes, byte[]>keyValueStore()));
            Map<Bytes, String> states = new TreeMap<>();
            try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
                while (all.hasNext()) {
                    KeyValue<Bytes, byte[]> each = all.next();
                    states.put(each.key, new String(each.value, StandardCharsets.ISO_8859_1));
                }
            }
            return states;
        }

        @Override
        public void onRestoreStart(TopicPartition changelog, String store, long startOffset, long endOffset) {}

        @Override
        public void onBatchRestored(TopicPartition changelog, String store, long batchEndOffset, long records) {
            restored.add(records);
        }

        @Override
        public void onRestoreEnd(TopicPartition changelog, String store, long records) {}

        @Override
        public void close() {
            streams.close(CloseOptions.timeout(PATIENCE)
                    .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
        }
    }
}
