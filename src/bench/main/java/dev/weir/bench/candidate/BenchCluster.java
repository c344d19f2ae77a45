package dev.weir.bench.candidate;

import dev.weir.bench.measure.SteadyRate;
import dev.weir.client.release.ReleaseConsumer;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Admission;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.BrokerCluster;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.OutputFormat;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.json.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.LongFunction;
import java.util.function.LongUnaryOperator;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Utils;

/**
 * An embedded broker, or several broker processes, with the topics and requests of several measurements.
 */
public final class BenchCluster implements AutoCloseable {

    private static final int PARTITIONS = WeirConfig.DEFAULTS.topics().partitions();
    private static final int QUEUED_CLIENTS = 10;
    private static final String REQUEST = "request-";
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Path directory;
    private final AutoCloseable brokers;
    private final String bootstrapServers;
    private final Optional<Integer> replicationFactor;
    private final Admin admin;
    private int workloads;

    /** Starts one broker in this process. */
    public BenchCluster() throws IOException, InterruptedException {
        this(1);
    }

    /** Starts one broker in this process, or several broker processes, each with a replica of each topic. */
    public BenchCluster(int count) throws IOException, InterruptedException {
        directory = Files.createTempDirectory("weir-bench-");
        if (count == 1) {
            EmbeddedBroker broker = EmbeddedBroker.start();
            brokers = broker;
            bootstrapServers = broker.bootstrapServers();
            replicationFactor = Optional.of(1);
        } else {
            BrokerCluster cluster = BrokerCluster.start(directory, count);
            brokers = cluster;
            bootstrapServers = cluster.bootstrapServers();
            replicationFactor = Optional.empty(); // the default of the brokers
        }
        admin = Admin.create(KafkaSettings.admin(config("any", PARTITIONS, OutputFormat.AVRO, Map.of())));
    }

    /**
     * Returns a configuration with its own topics and state.
     *
     * @param kafka the Kafka settings that differ from the defaults
     */
    private WeirConfig config(String name, int partitions, OutputFormat format, Map<String, String> kafka) {
        WeirConfig config = WeirConfig.builder()
                .applicationId(name)
                .topics(new WeirConfig.Topics(name + ".", partitions, partitions, replicationFactor, format))
                .kafka(kafka)
                .stateDirectory(directory.resolve(name))
                .build();
        return config.withKafka("bootstrap.servers", bootstrapServers);
    }

    public Admin admin() {
        return admin;
    }

    public static String client(long number) {
        return "client-" + number;
    }

    /** Returns the number in the id of a request. */
    public static long requestNumber(String requestId) {
        return Long.parseLong(requestId.substring(REQUEST.length()));
    }

    /** Creates the topics of a measurement, and applies policies. */
    public Workload workload(String policies, Map<String, String> kafka) throws IOException, FaultsException {
        return workload(policies, PARTITIONS, kafka);
    }

    public Workload workload(String policies, int partitions, Map<String, String> kafka)
            throws IOException, FaultsException {
        return workload(policies, config("load-" + ++workloads, partitions, OutputFormat.AVRO, kafka));
    }

    /** Returns a workload whose requests, decisions and releases have a format. */
    public Workload workload(String policies, OutputFormat format, Map<String, String> kafka)
            throws IOException, FaultsException {
        return workload(policies, config("load-" + ++workloads, PARTITIONS, format, kafka));
    }

    private Workload workload(String policies, WeirConfig config) throws IOException, FaultsException {
        TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        Workload workload = new Workload(config);
        workload.apply(policies);
        return workload;
    }

    /** Stops the brokers and deletes all data. The candidates must have been closed before. */
    @Override
    public void close() throws IOException {
        admin.close();
        Utils.closeQuietly(brokers, "brokers");
        Utils.delete(directory.toFile());
    }

    /** The topics and requests of one measurement. */
    public final class Workload implements AutoCloseable {
        private final WeirConfig config;
        private final Topics topics;
        private final Set<String> names;
        private final RequestCodec avro = new RequestCodec();
        private final AdmissionAvro admissions = new AdmissionAvro();
        private long sent;

        Workload(WeirConfig config) {
            this.config = config;
            this.topics = Topics.of(config);
            this.names = new HashSet<>(TopicSetup.names(config));
        }

        public WeirConfig config() {
            return config;
        }

        /** Returns the number of requests that have been sent. */
        public long sent() {
            return sent;
        }

        /** Returns the configuration of a candidate for these requests, and creates its internal topics. */
        public WeirConfig config(String candidate, long hotMemoryBytes) {
            return config(candidate, config.threads(), hotMemoryBytes);
        }

        public WeirConfig config(String candidate, int threads, long hotMemoryBytes) {
            WeirConfig.State state = config.state();
            WeirConfig ofCandidate = WeirConfig.builder()
                    .applicationId(config.applicationId() + "-" + candidate)
                    .threads(threads)
                    .topics(config.topics())
                    .state(new WeirConfig.State(
                            state.directory().resolve(candidate),
                            state.memoryBytes(),
                            hotMemoryBytes,
                            state.cleanupInterval(),
                            state.cleanupKeys(),
                            state.retention(),
                            state.most()))
                    .requests(config.requests())
                    .shaping(config.shaping())
                    .service(config.service())
                    .kafka(config.kafka())
                    .build();
            TopicSetup.createMissing(admin, ofCandidate, TopicSetup.RequestTime.LOG_APPEND); // its internal topics
            names.addAll(TopicSetup.names(ofCandidate));
            return ofCandidate;
        }

        /** Applies policies and queues. Returns how many of them changed. */
        public long apply(String policies) throws FaultsException {
            PolicyFile.Contents contents = PolicyFile.read("policies", policies);
            return new PolicyTopic(config)
                    .apply(contents, PolicyTopic.Options.DEFAULTS, System.currentTimeMillis()).stream()
                            .filter(change -> change.effect() != PolicyTopic.Effect.UNCHANGED)
                            .count();
        }

        public int requestBytes(long number) {
            return encode(request(number, "client-1000")).length;
        }

        /** Returns the size of a decision in bytes: the first one of a partition. */
        public int decisionBytes() throws ExecutionException, InterruptedException {
            try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                    KafkaSettings.consumer(config), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                List<TopicPartition> partitions = consumer.partitionsFor(topics.decisions()).stream()
                        .map(one -> new TopicPartition(one.topic(), one.partition()))
                        .toList();
                consumer.assign(partitions);
                consumer.seekToBeginning(partitions);
                for (ConsumerRecord<byte[], byte[]> decision : consumer.poll(PATIENCE)) {
                    return decision.serializedValueSize();
                }
            }
            throw new IllegalStateException("there are no decisions");
        }

        /** Sends requests as fast as possible until there are {@code requests} in total. */
        public void ensureRequests(long requests, List<LongUnaryOperator> clients)
                throws InterruptedException, ExecutionException {
            List<LongFunction<Request>> sources = new ArrayList<>();
            clients.forEach(one -> sources.add(number -> request(number, client(one.applyAsLong(number)))));
            ensure(requests, sources);
        }

        /**
         * Sends requests as fast as possible until there are {@code requests} in total: those of each client in the order
         * of their numbers.
         */
        public void ensureRequests(long requests, LongFunction<Request> source)
                throws InterruptedException, ExecutionException {
            ensure(requests, List.of(source));
        }

        private void ensure(long requests, List<LongFunction<Request>> sources)
                throws InterruptedException, ExecutionException {
            int producers = sources.size();
            long count = Math.max(0, requests - sent);
            List<CompletableFuture<Void>> running = new ArrayList<>();
            for (int i = 0; i < producers; i++) {
                long from = sent + count * i / producers;
                long to = sent + count * (i + 1) / producers;
                LongFunction<Request> source = sources.get(i);
                running.add(CompletableFuture.runAsync(() -> send(from, to, source)));
            }
            for (CompletableFuture<Void> producer : running) {
                producer.get();
            }
            sent += count;
        }

        /** Sends requests at a steady rate. The number of each is the time at which it was due. */
        public void send(SteadyRate rate, long fromNanos, long count, LongUnaryOperator clients) {
            Properties settings = KafkaSettings.producer(config);
            settings.put(ProducerConfig.LINGER_MS_CONFIG, 1);
            try (KafkaProducer<byte[], byte[]> producer = producer(settings)) {
                rate.run(fromNanos, count, dueNanos -> send(producer, dueNanos, clients));
            }
        }

        /** Sends admissions to queues as fast as possible, of ten clients in each queue. */
        public void admit(long count, BenchQueues queues) {
            try (KafkaProducer<byte[], byte[]> producer = producer(bulkSettings())) {
                for (long end = sent + count; sent < end; sent++) {
                    Request request = request(sent, "client-" + sent / queues.count() % QUEUED_CLIENTS);
                    String queue = queues.queueOf(sent);
                    byte[] admission =
                            admissions.encode(Admission.of(request, queue, new PolicyVersion("bench", 1), null));
                    var unused = producer.send(new ProducerRecord<>(
                            topics.admissions(), queue.getBytes(StandardCharsets.UTF_8), admission));
                }
            }
        }

        private void send(long from, long to, LongFunction<Request> source) {
            try (KafkaProducer<byte[], byte[]> producer = producer(bulkSettings())) {
                for (long number = from; number < to; number++) {
                    send(producer, source.apply(number));
                }
            }
        }

        private Properties bulkSettings() {
            Properties settings = KafkaSettings.producer(config);
            settings.put(ProducerConfig.LINGER_MS_CONFIG, 20);
            settings.put(ProducerConfig.BATCH_SIZE_CONFIG, 1 << 18);
            settings.put(ProducerConfig.BUFFER_MEMORY_CONFIG, 64 << 20);
            return settings;
        }

        private static KafkaProducer<byte[], byte[]> producer(Properties settings) {
            return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        }

        private void send(KafkaProducer<byte[], byte[]> producer, long number, LongUnaryOperator clients) {
            send(producer, request(number, client(clients.applyAsLong(number))));
        }

        private void send(KafkaProducer<byte[], byte[]> producer, Request request) {
            byte[] key = request.client().getBytes(StandardCharsets.UTF_8);
            var unused = producer.send(new ProducerRecord<>(topics.requests(), key, encode(request)));
        }

        private byte[] encode(Request request) {
            if (config.topics().outputFormat() == OutputFormat.AVRO) {
                return avro.encode(request);
            }
            Map<String, Object> fields = new LinkedHashMap<>();
            fields.put("requestId", request.requestId());
            fields.put("client", request.client());
            fields.put("kind", request.kind().name());
            fields.put("tier", request.tier());
            fields.put("cost", request.cost());
            fields.put("attributes", request.attributes());
            if (request.reserveMs() != null) {
                fields.put("reserve", request.reserveMs());
            }
            if (request.settles() != null) {
                fields.put("settles", request.settles());
            }
            return Json.write(fields).getBytes(StandardCharsets.UTF_8);
        }

        /** Returns a typical request of a gateway, of some 125 bytes. */
        private static Request request(long number, String client) {
            return Request.builder(REQUEST + number, client)
                    .tier("free")
                    .attributes(Map.of(
                            "endpoint",
                            "/articles/" + number % 1000,
                            "ip",
                            "10.0.0.1",
                            "agent",
                            "Mozilla/5.0 (X11; Linux x86_64)"))
                    .source(0, number)
                    .build();
        }

        /** Returns a consumer of new releases. It joins its group on the first call of {@code next}. */
        public ReleaseConsumer workers() throws ExecutionException, InterruptedException {
            Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
            for (int partition = 0; partition < config.topics().partitions(); partition++) {
                ends.put(new TopicPartition(topics.releases(), partition), OffsetSpec.latest());
            }
            Map<TopicPartition, OffsetAndMetadata> begin = new HashMap<>();
            admin.listOffsets(ends)
                    .all()
                    .get()
                    .forEach((partition, end) -> begin.put(partition, new OffsetAndMetadata(end.offset())));
            String group = config.applicationId() + "-workers";
            admin.alterConsumerGroupOffsets(group, begin).all().get();
            Properties settings = KafkaSettings.consumer(config);
            settings.put(ConsumerConfig.GROUP_ID_CONFIG, group);
            return new ReleaseConsumer(settings, topics.releases());
        }

        /** Deletes the topics. */
        @Override
        public void close() {
            admin.deleteTopics(names);
        }
    }

    /** Creates the topic to which {@link Candidate.CandidateKind#PASS} forwards requests. */
    public void createPassThroughTopic(WeirConfig config) throws ExecutionException, InterruptedException {
        admin.createTopics(List.of(new NewTopic(
                        CandidateProcess.passThroughTopic(config),
                        config.topics().partitions(),
                        (short) 1)))
                .all()
                .get();
    }
}
