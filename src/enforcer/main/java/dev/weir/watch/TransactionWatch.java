package dev.weir.watch;

import dev.weir.config.WeirConfig;
import dev.weir.topology.StreamsSettings;
import dev.weir.transaction.OpenTransaction;
import dev.weir.transaction.TransactionInspector;
import dev.weir.transaction.TransactionVerdict;
import dev.weir.transaction.TransactionVerdict.MarkerMissing;
import dev.weir.transaction.TransactionVerdict.MayRun;
import dev.weir.transaction.TransactionVerdict.NeverJoined;
import dev.weir.transaction.TransactionVerdict.Running;
import dev.weir.watch.ClusterProblem.Kind;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Detects transactions that stay open in partitions that matter to an instance, and ends them if it is proved how their
 * coordinator ended them. These are the partitions that it reads or restores from, those of the topics that it writes,
 * and those that have the committed offsets of its groups.
 *
 * <p>A partition is suspect if its last stable offset is below its end and has not moved for the transaction timeout of
 * the instance. Only then the open transaction at this offset is judged: at every look while it runs, and once a minute
 * afterwards. A marker is written at most once a minute for a partition, only for a transaction of this application that
 * its coordinator has ended, and as the coordinator decided.
 */
final class TransactionWatch {

    private static final Logger LOG = LoggerFactory.getLogger(TransactionWatch.class);

    /** The time between two judgements, or two repairs, of a transaction that does not run. */
    private static final Duration RETRY = Duration.ofMinutes(1);

    /** How long a transaction that may be running may block a partition until it is reported. */
    private static final Duration LONG = Duration.ofMinutes(1);

    /** The maximum number of partitions that are watched. */
    private static final int MOST = 2_000;

    private static final int TIMEOUT_SECONDS = 10;

    private static final String BY_HAND = "Run: weir doctor --fix hanging-transactions";

    /** The last stable offset of a partition, and since when it has not moved. */
    private record Standstill(long stableOffset, long sinceNanos) {}

    /** The last judgement of a transaction. */
    private record Judgement(OpenTransaction open, TransactionVerdict verdict, long atNanos, String failure) {}

    private final Admin admin;
    private final TransactionInspector inspector;
    private final LongSupplier nanos;
    private final Duration timeout;
    private final GroupOffsets offsets;
    private final Map<TopicPartition, Standstill> standstills = new HashMap<>();
    private final Map<TopicPartition, Judgement> judgements = new HashMap<>();

    /** The last attempt to write a marker to a partition, in nanoseconds. */
    private final Map<TopicPartition, Long> attempts = new HashMap<>();

    /** @param nanos a monotonic clock in nanoseconds */
    TransactionWatch(Admin admin, WeirConfig config, LongSupplier nanos) {
        this.admin = admin;
        this.nanos = nanos;
        inspector = new TransactionInspector(admin, config);
        timeout = StreamsSettings.transaction(config);
        offsets = new GroupOffsets(admin, config);
    }

    /**
     * Looks at partitions, repairs what can be repaired, and returns what remains.
     *
     * @param read the partitions that the instance reads, restores from or writes; beyond {@value #MOST}, some are ignored
     * @throws KafkaException if the brokers do not respond
     */
    List<ClusterProblem> look(Collection<TopicPartition> read) {
        Set<TopicPartition> partitions = read.stream().limit(MOST).collect(Collectors.toSet());
        partitions.addAll(offsets.partitions());
        Map<TopicPartition, Long> stable = offsets(partitions, IsolationLevel.READ_COMMITTED);
        Map<TopicPartition, Long> ends = offsets(partitions, IsolationLevel.READ_UNCOMMITTED);
        long now = nanos.getAsLong();
        Set<TopicPartition> suspects = new HashSet<>();
        for (TopicPartition partition : partitions) {
            long offset = stable.getOrDefault(partition, Long.MAX_VALUE);
            if (offset >= ends.getOrDefault(partition, 0L)) {
                standstills.remove(partition);
                continue;
            }
            Standstill standstill = standstills.get(partition);
            if (standstill == null || standstill.stableOffset != offset) {
                standstills.put(partition, new Standstill(offset, now));
            } else if (now - standstill.sinceNanos >= timeout.toNanos()) {
                suspects.add(partition);
            }
        }
        standstills.keySet().retainAll(partitions);
        judgements.keySet().retainAll(suspects);
        attempts.values().removeIf(before -> now - before >= RETRY.toNanos());
        Set<ClusterProblem> problems = new LinkedHashSet<>();
        Map<TopicPartition, OpenTransaction> open = new LinkedHashMap<>();
        suspects.stream()
                .sorted((one, other) -> one.toString().compareTo(other.toString()))
                .forEach(partition -> find(partition, now, open, problems));
        judge(open.values(), now);
        open.keySet()
                .forEach(partition -> report(judgements.get(partition), now - standstills.get(partition).sinceNanos)
                        .ifPresent(problems::add));
        return List.copyOf(problems);
    }

    /**
     * Finds the transaction at the stable offset of a partition.
     *
     * @param open receives it, if it is open
     * @param problems receives a problem of the topic if the brokers do not say which transactions are open
     */
    private void find(
            TopicPartition partition,
            long now,
            Map<TopicPartition, OpenTransaction> open,
            Set<ClusterProblem> problems) {
        Standstill standstill = standstills.get(partition);
        Set<String> refused = new HashSet<>();
        List<OpenTransaction> found = inspector.open(Set.of(partition), refused);
        if (!refused.isEmpty() && now - standstill.sinceNanos >= LONG.toNanos()) {
            problems.add(new ClusterProblem(
                    Kind.HANGING_TRANSACTION,
                    partition.topic(),
                    partition.topic() + ": a transaction stays open, and this user is not permitted to describe it",
                    "Grant READ on " + partition.topic()));
        }
        found.stream()
                .filter(one -> one.startOffset() == standstill.stableOffset)
                .findFirst()
                .ifPresentOrElse(one -> open.put(partition, one), () -> judgements.remove(partition));
    }

    /** Judges the transactions that are due. Those of a producer are judged together, which reads its log once. */
    private void judge(Collection<OpenTransaction> open, long now) {
        open.stream()
                .filter(one -> isDue(one, now))
                .collect(Collectors.groupingBy(OpenTransaction::producerId, TreeMap::new, Collectors.toList()))
                .values()
                .forEach(ofProducer -> verdicts(ofProducer)
                        .forEach((one, verdict) -> judgements.put(one.partition(), repaired(one, verdict, now))));
    }

    private Map<OpenTransaction, TransactionVerdict> verdicts(List<OpenTransaction> ofProducer) {
        try {
            return inspector.judge(ofProducer);
        } catch (KafkaException e) {
            MayRun unknown = new MayRun("its coordinator or the coordinator's log cannot be read: " + e.getMessage());
            return ofProducer.stream().collect(Collectors.toMap(one -> one, one -> unknown));
        }
    }

    private boolean isDue(OpenTransaction open, long now) {
        Judgement judgement = judgements.get(open.partition());
        return judgement == null
                || !judgement.open.isSame(open)
                || judgement.verdict instanceof Running
                || now - judgement.atNanos >= RETRY.toNanos();
    }

    private Judgement repaired(OpenTransaction open, TransactionVerdict verdict, long now) {
        boolean isOwn = ended(verdict).filter(inspector::isOwn).isPresent();
        return new Judgement(open, verdict, now, isOwn ? repairOncePerMinute(open, verdict, now) : null);
    }

    /** Returns the transactional id of a transaction that has ended. */
    private static Optional<String> ended(TransactionVerdict verdict) {
        if (verdict instanceof MarkerMissing missing) {
            return Optional.of(missing.transactionalId());
        }
        return verdict instanceof NeverJoined never ? Optional.of(never.transactionalId()) : Optional.empty();
    }

    private String repairOncePerMinute(OpenTransaction open, TransactionVerdict verdict, long now) {
        Long before = attempts.get(open.partition());
        if (before != null && now - before < RETRY.toNanos()) {
            return "another one was ended there less than a minute ago";
        }
        attempts.put(open.partition(), now);
        return repair(open, verdict);
    }

    /** Repairs a transaction. Returns why that failed, {@code null} if it did not. */
    private String repair(OpenTransaction open, TransactionVerdict verdict) {
        try {
            String action = inspector.repair(open, verdict);
            LOG.warn(
                    "A transaction did not end: {}; {}. It was {} there",
                    open,
                    TransactionInspector.describe(verdict),
                    action);
            return null;
        } catch (AuthorizationException e) {
            return "this user lacks ALTER on the cluster, which is needed to write the marker";
        } catch (KafkaException e) {
            return "the marker was not written: " + e.getMessage();
        }
    }

    private Optional<ClusterProblem> report(Judgement judgement, long standstillNanos) {
        boolean isRunning = judgement.verdict instanceof Running;
        boolean mayRun = isRunning || judgement.verdict instanceof MayRun;
        boolean isOwn = ended(judgement.verdict).filter(inspector::isOwn).isPresent();
        boolean isRepaired = isOwn && judgement.failure == null;
        boolean isForeign = !isOwn && GroupOffsets.isOne(judgement.open.partition()); // of another group
        if (isRepaired || isForeign || (mayRun && standstillNanos < LONG.toNanos())) {
            return Optional.empty();
        }
        OpenTransaction open = judgement.open;
        return Optional.of(new ClusterProblem(
                Kind.HANGING_TRANSACTION,
                open.partition().topic(),
                open.partition() + ": a transaction of producer " + open.producerId() + " with epoch "
                        + open.producerEpoch() + " is open since offset " + open.startOffset()
                        + ", and no later record is read; " + TransactionInspector.describe(judgement.verdict)
                        + (judgement.failure == null ? "" : "; " + judgement.failure),
                isRunning ? "Stop its producer, or wait" : BY_HAND));
    }

    /** Returns the ends of partitions, as far as they are known. */
    private Map<TopicPartition, Long> offsets(Set<TopicPartition> partitions, IsolationLevel level) {
        Map<TopicPartition, OffsetSpec> specs =
                partitions.stream().collect(Collectors.toMap(one -> one, one -> OffsetSpec.latest()));
        ListOffsetsResult answers = admin.listOffsets(specs, new ListOffsetsOptions(level));
        Map<TopicPartition, Long> ends = new HashMap<>();
        for (TopicPartition partition : partitions) {
            try {
                ends.put(
                        partition,
                        answers.partitionResult(partition)
                                .get(TIMEOUT_SECONDS, TimeUnit.SECONDS)
                                .offset());
            } catch (ExecutionException e) {
                LOG.debug("No offset of {}: {}", partition, e.getMessage());
            } catch (TimeoutException e) {
                throw new KafkaException("no response within " + TIMEOUT_SECONDS + "s", e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new KafkaException("interrupted", e);
            }
        }
        return ends;
    }
}
