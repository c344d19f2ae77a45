package dev.weir.transaction;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.transaction.TransactionVerdict.MarkerMissing;
import dev.weir.transaction.TransactionVerdict.MayRun;
import dev.weir.transaction.TransactionVerdict.NeverJoined;
import dev.weir.transaction.TransactionVerdict.Running;
import dev.weir.transaction.TransactionVerdict.Undecided;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeProducersResult;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;

/**
 * Finds transactions that are open in partitions, asks the coordinator and its log about them, and writes missing
 * markers.
 */
public final class TransactionInspector {

    private static final int TIMEOUT_SECONDS = 20;
    private static final String MAX_TIMEOUT = "transaction.max.timeout.ms";
    private static final Duration DEFAULT_MAX_TIMEOUT = Duration.ofMinutes(15);

    private static final String OF_STREAMS = "-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9]+";

    private final Admin admin;
    private final WeirConfig config;
    private final Pattern own;

    public TransactionInspector(Admin admin, WeirConfig config) {
        this.admin = admin;
        this.config = config;
        own = Pattern.compile("(?:" + Pattern.quote(config.applicationId()) + "|"
                + Pattern.quote(KafkaSettings.shapingId(config)) + ")" + OF_STREAMS + "|"
                + Pattern.quote(KafkaSettings.repartitionId(config)));
    }

    /**
     * Returns the open transactions of partitions.
     *
     * @param refused receives the topics whose producers this user may not describe, which needs READ
     * @throws KafkaException if a broker rejects the request for another reason, or does not respond
     */
    public List<OpenTransaction> open(Collection<TopicPartition> partitions, Set<String> refused) {
        DescribeProducersResult answers = admin.describeProducers(partitions);
        List<OpenTransaction> found = new ArrayList<>();
        for (TopicPartition partition : partitions) {
            try {
                await(answers.partitionResult(partition)).activeProducers().stream()
                        .flatMap(producer -> OpenTransaction.of(partition, producer).stream())
                        .forEach(found::add);
            } catch (TopicAuthorizationException e) {
                refused.add(partition.topic());
            }
        }
        return found;
    }

    /**
     * Judges an open transaction. Reads the coordinator's log only if the coordinator does not know the transaction any
     * more.
     *
     * @throws KafkaException if the brokers do not respond
     */
    public TransactionVerdict judge(OpenTransaction open) {
        return judge(List.of(open)).get(open);
    }

    /**
     * Judges open transactions. Reads the log once for each producer.
     *
     * @throws KafkaException if the brokers do not respond
     */
    public Map<OpenTransaction, TransactionVerdict> judge(Collection<OpenTransaction> open) {
        Map<OpenTransaction, TransactionVerdict> verdicts = new HashMap<>();
        open.stream()
                .collect(Collectors.groupingBy(OpenTransaction::producerId, TreeMap::new, Collectors.toList()))
                .forEach((producerId, ofProducer) -> verdicts.putAll(judge(ofProducer, coordinator(producerId))));
        return verdicts;
    }

    private Map<OpenTransaction, TransactionVerdict> judge(
            List<OpenTransaction> open, Optional<CoordinatorState> coordinator) {
        Map<OpenTransaction, TransactionHistory> histories =
                open.stream().collect(Collectors.toMap(one -> one, TransactionHistory::new));
        Map<OpenTransaction, TransactionVerdict> verdicts = new HashMap<>();
        List<OpenTransaction> ended = coordinator.stream()
                .flatMap(state -> open.stream().filter(one -> !HangingTransactions.isRunning(one, state)))
                .toList();
        if (!ended.isEmpty()) {
            String id = coordinator.get().transactionalId();
            try {
                new TransactionLog(KafkaSettings.consumer(config))
                        .read(id, ended.stream().map(histories::get).toList());
            } catch (AuthorizationException e) {
                Undecided refused = new Undecided("this user is not permitted to read the log of the coordinator of "
                        + id + "; grant READ on " + TransactionLog.TOPIC);
                ended.forEach(one -> verdicts.put(one, refused));
            }
        }
        histories.forEach((one, history) ->
                verdicts.putIfAbsent(one, confirmed(one, HangingTransactions.judge(one, coordinator, history))));
        return verdicts;
    }

    /** Returns a verdict, if it is about the transaction at the beginning. Brokers may append records of a later one. */
    private TransactionVerdict confirmed(OpenTransaction open, TransactionVerdict verdict) {
        boolean isProof = verdict instanceof MarkerMissing || verdict instanceof NeverJoined;
        return isProof && !FirstBatch.hasEpochOf(open, admin, config)
                ? new Undecided("its first record has another epoch than the producer's last one")
                : verdict;
    }

    private Optional<CoordinatorState> coordinator(long producerId) {
        for (TransactionListing listing :
                await(admin.listTransactions(new ListTransactionsOptions().filterProducerIds(Set.of(producerId)))
                        .all())) {
            String id = listing.transactionalId();
            try {
                TransactionDescription found =
                        await(admin.describeTransactions(List.of(id)).description(id));
                return Optional.of(new CoordinatorState(
                        id, found.state(), found.producerId(), (short) found.producerEpoch(), found.topicPartitions()));
            } catch (TransactionalIdNotFoundException e) {
                // it has expired since
            }
        }
        return Optional.empty();
    }

    /**
     * Returns whether a transactional id is one of an instance or of a repartitioning, so that an instance may end its
     * transactions. Those of Kafka Streams are the application's id, the UUID of a process and the number of a thread.
     */
    public boolean isOwn(String transactionalId) {
        return own.matcher(transactionalId).matches();
    }

    /**
     * Ends a transaction in its partition as the coordinator decided: commits it if the coordinator did, and aborts it
     * otherwise. Does nothing if the broker has seen a newer transaction of the producer.
     *
     * @return the action, for a log: {@code committed} or {@code aborted}
     * @throws IllegalArgumentException if the verdict is not that the transaction has ended
     * @throws KafkaException if the broker rejects the marker; needs ALTER on the cluster
     */
    public String repair(OpenTransaction open, TransactionVerdict verdict) {
        boolean isCommitted = isCommitted(verdict);
        TransactionMarkers.write(admin, config, open, isCommitted);
        return isCommitted ? "committed" : "aborted";
    }

    /**
     * Returns how long a transaction can run, as the brokers limit it ({@code transaction.max.timeout.ms}): the default
     * of Kafka if this user may not describe their settings.
     *
     * @throws KafkaException if the brokers do not respond
     */
    public Duration longestTransaction() {
        List<ConfigResource> brokers = await(admin.describeCluster().nodes()).stream()
                .map(node -> new ConfigResource(ConfigResource.Type.BROKER, node.idString()))
                .toList();
        try {
            return await(admin.describeConfigs(brokers).all()).values().stream()
                    .flatMap(settings -> Optional.ofNullable(settings.get(MAX_TIMEOUT)).stream())
                    .map(setting -> Duration.ofMillis(Long.parseLong(setting.value())))
                    .max(Duration::compareTo)
                    .orElse(DEFAULT_MAX_TIMEOUT);
        } catch (AuthorizationException e) {
            return DEFAULT_MAX_TIMEOUT;
        }
    }

    /**
     * Aborts a transaction whose end is not known. If the coordinator has committed it, its records in the partition are
     * lost.
     *
     * @throws KafkaException if the broker rejects the marker; needs ALTER on the cluster
     */
    public void abort(OpenTransaction open) {
        TransactionMarkers.write(admin, config, open, false);
    }

    private static boolean isCommitted(TransactionVerdict verdict) {
        if (verdict instanceof MarkerMissing missing) {
            return missing.isCommitted();
        }
        if (verdict instanceof NeverJoined) {
            return false;
        }
        throw new IllegalArgumentException("has not ended: " + verdict);
    }

    /** Describes a verdict for an operator, in one clause. */
    public static String describe(TransactionVerdict verdict) {
        if (verdict instanceof Running running) {
            return "the transaction of " + running.transactionalId() + " is running; its coordinator ends it after its"
                    + " timeout";
        }
        if (verdict instanceof MarkerMissing missing) {
            return "its coordinator has " + (missing.isCommitted() ? "committed" : "aborted") + " the transaction of "
                    + missing.transactionalId() + ", but the marker is missing here";
        }
        if (verdict instanceof NeverJoined never) {
            return "the records were never part of a transaction of " + never.transactionalId();
        }
        if (verdict instanceof MayRun unknown) {
            return "it may still be running: " + unknown.reason();
        }
        return "how it ended is not known: " + ((Undecided) verdict).reason();
    }

    private static <T> T await(KafkaFuture<T> answer) {
        try {
            return answer.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof KafkaException refusal ? refusal : new KafkaException(e.getCause());
        } catch (TimeoutException e) {
            throw new KafkaException("no response within " + TIMEOUT_SECONDS + "s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new KafkaException("interrupted", e);
        }
    }
}
