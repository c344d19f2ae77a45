package dev.weir.audit;

import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.AuditedTopic;
import dev.weir.audit.finding.Mismatch.RecordPosition;
import dev.weir.audit.history.PolicyTimeline;
import dev.weir.audit.shared.LeaseUsageAudit;
import dev.weir.audit.shared.SharedQuotaAudit;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.SchemaRegistries;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.requests.RequestPartitions;
import dev.weir.requests.RequestPlacement;
import dev.weir.requests.RequestReader;
import dev.weir.topics.StatePartitions;
import dev.weir.topology.StreamsSettings;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.LeaseUsageAvro;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.SchemaRegistry;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.header.Header;

/**
 * Recomputes the decisions of a cluster and reports the differences, one partition after the other, each from its
 * oldest retained request. It changes nothing.
 */
public final class Audit implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int MAX_DEAD_LETTERS = 1_000_000;

    private final WeirConfig config;
    private final Topics topics;
    private final AuditRange range;
    private final Admin admin;

    /** The retained offsets of a partition of a topic. */
    private record OffsetRange(long begin, long end) {
        boolean isWhole() {
            return begin == 0;
        }
    }

    /**
     * The dead letters of requests.
     *
     * @param byPartition by the request's partition and offset
     * @param fromMs dead letters up to this time may have been deleted, ms since the epoch; the minimum if none was
     */
    private record RetainedDeadLetters(
            Map<Integer, NavigableMap<Long, List<AuditedDeadLetter>>> byPartition, long fromMs) {}

    private Audit(WeirConfig config, AuditRange range) {
        this.config = config;
        this.range = range;
        topics = Topics.of(config);
        admin = Admin.create(KafkaSettings.admin(config));
    }

    /**
     * Audits all records up to the present end of the topics.
     *
     * @param config the configuration of the enforcers
     * @param differences receives each mismatch
     * @throws UnreachableException if a topic cannot be read, or the topics have different numbers of partitions
     * @throws dev.weir.wire.RegistryException if the registry that has a schema does not respond
     */
    public static AuditSummary run(WeirConfig config, AuditRange range, Consumer<Mismatch> differences) {
        try (Audit audit = new Audit(config, range)) {
            return audit.run(differences);
        }
    }

    private AuditSummary run(Consumer<Mismatch> differences) {
        int tasks = tasks();
        int partitions = requestPartitions(tasks);
        // The order matters: effects are read before their causes, so each release that is read has a decision, and
        // each decision a request.
        Map<TopicPartition, Long> decidedTo =
                committedOffsets(StreamsSettings.deciding(config).getProperty("application.id"));
        boolean queuesDone = areQueuesDone();
        Set<Integer> routedDone = drainedTasks(decidedTo, tasks);
        Map<Integer, OffsetRange> releases = offsetRanges(topics.releases(), tasks);
        Map<Integer, OffsetRange> decisions = offsetRanges(topics.decisions(), tasks);
        Map<Integer, OffsetRange> usage = offsetRanges(topics.leaseUsage(), count(topics.leaseUsage()));
        Map<Integer, OffsetRange> deadLetters = offsetRanges(topics.deadLetters(), count(topics.deadLetters()));
        Map<Integer, OffsetRange> requests = offsetRanges(topics.requests(), partitions);
        Map<Integer, Long> from = offsets(range.from(), requests, OffsetRange::begin);
        Map<Integer, Long> to = offsets(range.to(), requests, OffsetRange::end);
        RetainedDeadLetters letters = readDeadLetters(deadLetters);
        Optional<SchemaRegistry> registry = SchemaRegistries.of(config);
        RequestPlacement placement = new RequestPlacement(
                new RequestPartitions(tasks, partitions), config.requests().misplaced());
        AuditContext context = new AuditContext(
                config.toBuilder()
                        .requests(config.requests().withMisplaced(placement.action()))
                        .build(),
                new RequestReader(new RequestCodec(registry), config.requests().rules()),
                new DecisionCodec(registry),
                new ReleaseCodec(registry),
                rules());
        AuditSummary totals = new AuditSummary();
        SharedQuotaAudit sums = new SharedQuotaAudit(config, context.rules(), range, totals, differences);
        PartitionAudit.SharedState shared =
                new PartitionAudit.SharedState(misplaced(tasks, partitions), sums, totals, differences);
        for (int partition = 0; partition < tasks; partition++) {
            OffsetRange decided = retained(topics.decisions(), partition, decisions.get(partition));
            OffsetRange released = retained(topics.releases(), partition, releases.get(partition));
            Map<Integer, AuditScope.Bounds> bounds = new HashMap<>();
            offsetRanges(topics.requests(), partitions).forEach((of, now) -> {
                Long untilDecided = decidedTo.get(new TopicPartition(topics.requests(), of));
                long end = requests.get(of).end;
                bounds.put(of, new AuditScope.Bounds(now.begin, from.get(of), to.get(of), end, untilDecided));
            });
            AuditScope scope = new AuditScope(
                    partition,
                    bounds,
                    client -> placement.partitionOf(client.getBytes(StandardCharsets.UTF_8)),
                    new AuditScope.Retained(
                            bounds.get(partition).begin() == 0, decided.isWhole(), released.isWhole(), letters.fromMs),
                    queuesDone,
                    routedDone,
                    range);
            List<CommittedRecords> opened = new ArrayList<>();
            IntFunction<Iterator<ConsumerRecord<byte[], byte[]>>> open = of -> {
                CommittedRecords some = committed(
                        topics.requests(),
                        of,
                        new OffsetRange(bounds.get(of).begin(), bounds.get(of).end()));
                opened.add(some);
                return some;
            };
            try (CommittedRecords recorded = committed(topics.decisions(), partition, decided);
                    CommittedRecords left = committed(topics.releases(), partition, released)) {
                PartitionRecords records =
                        new PartitionRecords(open.apply(partition), recorded, left, open, letters.byPartition);
                new PartitionAudit(context, scope, records, shared).run();
            } finally {
                opened.forEach(CommittedRecords::close);
            }
        }
        LeaseUsageAudit reports = new LeaseUsageAudit(new LeaseUsageAvro(registry), sums);
        usage.forEach((partition, extent) -> {
            try (CommittedRecords records =
                    committed(topics.leaseUsage(), partition, retained(topics.leaseUsage(), partition, extent))) {
                reports.add(records);
            }
        });
        sums.verify();
        letters.byPartition.forEach((partition, byOffset) -> {
            if (partition < 0 || partition >= partitions) {
                byOffset.forEach((offset, some) -> some.forEach(letter ->
                        reportUnknownPartition(new Request.Source(partition, offset), letter, totals, differences)));
            }
        });
        return totals;
    }

    /** Reports a dead letter of a partition that does not exist. */
    private void reportUnknownPartition(
            Request.Source source, AuditedDeadLetter letter, AuditSummary totals, Consumer<Mismatch> differences) {
        if (range.contains(letter.timestampMs())) {
            totals.add(Mismatch.Kind.NO_REQUEST);
            differences.accept(DecisionVerifier.unasked(source, letter, "there is no such partition"));
        }
    }

    /** Returns the number of tasks, which write the decisions of their clients to partitions with the same numbers. */
    private int tasks() {
        int tasks = StatePartitions.of(admin, config);
        for (String topic : List.of(topics.decisions(), topics.releases())) {
            if (count(topic) != tasks) {
                throw new UnreachableException(
                        "%s has %d partitions, and the state of clients has %d: the audit requires the same number"
                                .formatted(topic, count(topic), tasks),
                        null);
            }
        }
        return tasks;
    }

    private int requestPartitions(int tasks) {
        int partitions = count(topics.requests());
        if (partitions < tasks) {
            throw new UnreachableException(
                    "%s has %d partitions, fewer than the state of clients, which has %d"
                            .formatted(topics.requests(), partitions, tasks),
                    null);
        }
        return partitions;
    }

    /** Returns the partitions to read for every task: those that were added, which have no task of their own. */
    private static MisplacedPartitions misplaced(int tasks, int partitions) {
        MisplacedPartitions misplaced = new MisplacedPartitions();
        for (int added = tasks; added < partitions; added++) {
            for (int task = 0; task < tasks; task++) {
                misplaced.add(task, added);
            }
        }
        return misplaced;
    }

    private int count(String topic) {
        TopicDescription description = get(
                topic, admin.describeTopics(List.of(topic)).topicNameValues().get(topic));
        return description.partitions().size();
    }

    private Map<Integer, OffsetRange> offsetRanges(String topic, int partitions) {
        Map<TopicPartition, OffsetSpec> begins = new HashMap<>();
        Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
        for (int partition = 0; partition < partitions; partition++) {
            begins.put(new TopicPartition(topic, partition), OffsetSpec.earliest());
            ends.put(new TopicPartition(topic, partition), OffsetSpec.latest());
        }
        var begin = get(topic, admin.listOffsets(begins).all());
        var end = get(topic, admin.listOffsets(ends).all());
        Map<Integer, OffsetRange> extents = new TreeMap<>();
        begins.keySet()
                .forEach(partition -> extents.put(
                        partition.partition(),
                        new OffsetRange(
                                begin.get(partition).offset(),
                                end.get(partition).offset())));
        return extents;
    }

    /**
     * Returns the part of a range that is still retained: its beginning may have been deleted while other partitions
     * were read.
     */
    private OffsetRange retained(String topic, int partition, OffsetRange before) {
        TopicPartition of = new TopicPartition(topic, partition);
        var begin =
                get(topic, admin.listOffsets(Map.of(of, OffsetSpec.earliest())).all());
        return new OffsetRange(begin.get(of).offset(), before.end);
    }

    private Map<Integer, Long> offsets(
            Instant time,
            Map<Integer, OffsetRange> requests,
            java.util.function.ToLongFunction<OffsetRange> withoutTime) {
        Map<Integer, Long> offsets = new HashMap<>();
        requests.forEach((partition, extent) -> offsets.put(partition, withoutTime.applyAsLong(extent)));
        if (time != null) {
            Map<TopicPartition, OffsetSpec> specs = new HashMap<>();
            requests.keySet()
                    .forEach(partition -> specs.put(
                            new TopicPartition(topics.requests(), partition),
                            OffsetSpec.forTimestamp(time.toEpochMilli())));
            get(topics.requests(), admin.listOffsets(specs).all())
                    .forEach((partition, found) -> offsets.put(
                            partition.partition(),
                            found.offset() < 0 ? requests.get(partition.partition()).end : found.offset()));
        }
        return offsets;
    }

    /** Returns the committed offsets of a group; empty if they are unknown. */
    private Map<TopicPartition, Long> committedOffsets(String group) {
        Map<TopicPartition, Long> read = new HashMap<>();
        try {
            Map<TopicPartition, OffsetAndMetadata> offsets = admin.listConsumerGroupOffsets(group)
                    .partitionsToOffsetAndMetadata()
                    .get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
            offsets.forEach((partition, offset) -> {
                if (offset != null) {
                    read.put(partition, offset.offset());
                }
            });
        } catch (ExecutionException e) {
            boolean isUnknown = e.getCause() instanceof GroupIdNotFoundException
                    || e.getCause() instanceof GroupAuthorizationException;
            if (!isUnknown) {
                throw failure("the committed offsets of group " + group, e);
            }
        } catch (TimeoutException e) {
            throw failure("the committed offsets of group " + group, e);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
        return read;
    }

    /**
     * Returns the tasks that have decided all requests that were routed to them so far.
     *
     * @param decidedTo the offsets up to which the tasks have read
     */
    private Set<Integer> drainedTasks(Map<TopicPartition, Long> decidedTo, int partitions) {
        Set<Integer> done = new HashSet<>();
        for (int task = 0; task < partitions; task++) {
            done.add(task);
        }
        if (!exists(topics.routedRequests())) { // no request was ever routed
            return done;
        }
        offsetRanges(topics.routedRequests(), count(topics.routedRequests())).forEach((task, extent) -> {
            TopicPartition partition = new TopicPartition(topics.routedRequests(), task);
            long from = Math.max(extent.begin, decidedTo.getOrDefault(partition, 0L));
            try (CommittedRecords unread = new CommittedRecords(config, partition, from, extent.end)) {
                if (from < extent.end && unread.hasNext()) {
                    done.remove(task);
                }
            }
        });
        return done;
    }

    private boolean exists(String topic) {
        try {
            return count(topic) > 0;
        } catch (UnreachableException e) {
            if (e.getCause() == null) {
                return false;
            }
            throw e;
        }
    }

    /** Returns whether the queues have answered all requests that were sent to them so far. */
    private boolean areQueuesDone() {
        Map<Integer, OffsetRange> admissions = offsetRanges(topics.admissions(), count(topics.admissions()));
        Map<TopicPartition, Long> read = committedOffsets(KafkaSettings.shapingId(config));
        for (Map.Entry<Integer, OffsetRange> extent : admissions.entrySet()) {
            TopicPartition partition = new TopicPartition(topics.admissions(), extent.getKey());
            long from = Math.max(extent.getValue().begin, read.getOrDefault(partition, 0L));
            long end = extent.getValue().end;
            try (CommittedRecords unread = new CommittedRecords(config, partition, from, end)) {
                if (from < end && unread.hasNext()) {
                    return false;
                }
            }
        }
        return true;
    }

    private RetainedDeadLetters readDeadLetters(Map<Integer, OffsetRange> extents) {
        Map<Integer, NavigableMap<Long, List<AuditedDeadLetter>>> letters = new HashMap<>();
        int[] count = {0};
        long[] fromMs = {Long.MIN_VALUE}; // a request's dead letter may be on any partition
        extents.forEach((partition, extent) -> {
            try (CommittedRecords committed = committed(topics.deadLetters(), partition, extent)) {
                long firstMs = extent.isWhole() ? Long.MIN_VALUE : Long.MAX_VALUE;
                while (committed.hasNext()) {
                    ConsumerRecord<byte[], byte[]> letter = committed.next();
                    firstMs = firstMs == Long.MAX_VALUE ? letter.timestamp() : firstMs;
                    if (!topics.requests().equals(header(letter, DeadLetterHeaders.TOPIC))) {
                        continue;
                    }
                    if (count[0]++ == MAX_DEAD_LETTERS) {
                        throw new UnreachableException(
                                "there are more than " + MAX_DEAD_LETTERS + " dead letters, too many to audit", null);
                    }
                    RecordPosition place =
                            new RecordPosition(AuditedTopic.DEAD_LETTERS, letter.partition(), letter.offset());
                    letters.computeIfAbsent(
                                    number(letter, DeadLetterHeaders.PARTITION, Integer::valueOf, -1),
                                    any -> new TreeMap<>())
                            .computeIfAbsent(
                                    number(letter, DeadLetterHeaders.OFFSET, Long::valueOf, -1L),
                                    any -> new ArrayList<>(1))
                            .add(new AuditedDeadLetter(
                                    header(letter, DeadLetterHeaders.REASON), place, letter.timestamp()));
                }
                fromMs[0] = Math.max(fromMs[0], firstMs);
            }
        });
        return new RetainedDeadLetters(letters, fromMs[0]);
    }

    private static <T> T number(ConsumerRecord<byte[], byte[]> letter, String name, Function<String, T> parse, T none) {
        try {
            return parse.apply(String.valueOf(header(letter, name)));
        } catch (NumberFormatException e) {
            return none; // not written by Weir
        }
    }

    private static String header(ConsumerRecord<byte[], byte[]> letter, String name) {
        Header header = letter.headers().lastHeader(name);
        return header == null || header.value() == null ? null : new String(header.value(), StandardCharsets.UTF_8);
    }

    /**
     * Returns the versions in the history, and those on the policies topic that the history lacks, because another
     * writer wrote them or because they are older than the history.
     */
    private PolicyTimeline rules() {
        List<PolicyTimeline.RecordedVersion> written = new ArrayList<>();
        Set<String> known = new HashSet<>();
        readAll(topics.policyHistory(), record -> {
            String key = key(record);
            int slash = key.lastIndexOf('/');
            if (slash >= 0 && record.value() != null) {
                decode(key.substring(0, slash), record).ifPresent(written::add);
                known.add(key);
            }
        });
        Set<String> removed = new HashSet<>();
        readAll(topics.policies(), record -> {
            String key = key(record);
            Optional<PolicyTimeline.RecordedVersion> one = record.value() == null
                    ? Optional.of(new PolicyTimeline.RecordedVersion(key, null, record.timestamp()))
                    : decode(key, record);
            if (record.value() == null) {
                removed.add(key);
            }
            one.filter(change -> change.applied() == null
                            || removed.contains(key)
                            || known.add(key + "/" + change.applied().version()))
                    .ifPresent(change -> insert(change, written));
        });
        return new PolicyTimeline(written);
    }

    private static void insert(PolicyTimeline.RecordedVersion change, List<PolicyTimeline.RecordedVersion> inOrder) {
        int index = 0;
        while (index < inOrder.size() && inOrder.get(index).writtenMs() <= change.writtenMs()) {
            index++;
        }
        inOrder.add(index, change);
    }

    private static Optional<PolicyTimeline.RecordedVersion> decode(String key, ConsumerRecord<byte[], byte[]> record) {
        try {
            return Optional.of(new PolicyTimeline.RecordedVersion(
                    key, new PolicyAvro().decode(key, record.value()), record.timestamp()));
        } catch (UnreadableException e) {
            return Optional.empty(); // never in force
        }
    }

    private static String key(ConsumerRecord<byte[], byte[]> record) {
        return record.key() == null ? "" : new String(record.key(), StandardCharsets.UTF_8);
    }

    private void readAll(String topic, Consumer<ConsumerRecord<byte[], byte[]>> records) {
        offsetRanges(topic, count(topic)).forEach((partition, extent) -> {
            try (CommittedRecords committed = committed(topic, partition, extent)) {
                committed.forEachRemaining(records);
            }
        });
    }

    private CommittedRecords committed(String topic, int partition, OffsetRange extent) {
        return new CommittedRecords(config, new TopicPartition(topic, partition), extent.begin, extent.end);
    }

    private static <T> T get(String topic, KafkaFuture<T> future) {
        try {
            return future.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof UnknownTopicOrPartitionException
                    ? UnreachableException.noTopic(topic)
                    : failure("the topic " + topic, e);
        } catch (TimeoutException e) {
            throw failure("the topic " + topic, e);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static UnreachableException failure(String what, Exception e) {
        Throwable why = e instanceof ExecutionException ? e.getCause() : e;
        return new UnreachableException("cannot read " + what + ": " + UnreachableException.causeMessage(why), e);
    }

    private static UnreachableException interrupted(InterruptedException e) {
        Thread.currentThread().interrupt();
        return new UnreachableException("interrupted while reading", e);
    }

    @Override
    public void close() {
        admin.close();
    }
}
