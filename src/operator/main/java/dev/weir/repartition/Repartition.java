package dev.weir.repartition;

import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.MisplacedAction;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.topics.StatePartitions;
import dev.weir.topology.Stores;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Gives the state of clients as many partitions as the request topic has, while no instance is running.
 *
 * <pre>
 *   1. keep instances out of the group            GroupLock
 *   2. add partitions to the topics, but not to the changelog that determines their number: StatePartitions
 *   3. copy state and idempotent answers to the new partitions of their clients     StateMove, IdempotencyMove
 *   4. move requests that wait for a lease, and requests that are routed but not decided     WaitingMove
 *   5. delete what was copied from the old partitions
 *   6. add partitions to the last changelog: now instances can start
 * </pre>
 *
 * <p>If it is interrupted, run it again: each step can be repeated, and instances refuse to start before step 6. A copy
 * that is made again is the same, because nothing else writes in between, and nothing is deleted before all is copied.
 * Leases and the positions of tasks stay where they are. Queues and ledgers are not affected.
 */
public final class Repartition implements AutoCloseable {

    private static final int TIMEOUT_SECONDS = 60;

    private final WeirConfig config;
    private final Topics names;
    private final Admin admin;
    private final RepartitionTopics topics;
    private final RepartitionPlan plan;
    private final ClientMove clients;

    /**
     * What was done.
     *
     * @param states the copied records of usage
     * @param answers the copied idempotent answers
     * @param waiting the moved requests that wait for a lease
     * @param routed the routed requests that were not decided yet
     */
    public record Result(long states, long answers, long waiting, long routed) {}

    /**
     * Looks up the topics. Changes nothing.
     *
     * @throws UnreachableException if they do not exist, have more partitions than the request topic, or no broker
     *     responds
     */
    public Repartition(WeirConfig config) {
        this.config = config;
        names = Topics.of(config);
        admin = Admin.create(KafkaSettings.admin(config));
        try {
            topics = new RepartitionTopics(admin, config);
            plan = topics.plan();
        } catch (RuntimeException e) {
            admin.close();
            throw e;
        }
        clients = new ClientMove(plan.from(), plan.to());
    }

    /** Returns what {@link #run} does. */
    public RepartitionPlan plan() {
        return plan;
    }

    /**
     * Repartitions the state.
     *
     * @param progress receives a line for each step
     * @throws UnreachableException if misplaced requests are rejected; if instances are running, or a topic cannot be
     *     read or written; run it again then
     */
    public Result run(Consumer<String> progress) {
        requireRouting();
        try (GroupLock lock = GroupLock.acquire(config);
                MoveWriter writer = new MoveWriter(config, lock.member())) {
            return run(writer, progress);
        }
    }

    /** Requests that wait on the topic were produced before the partitions were added, so many become misplaced. */
    private void requireRouting() {
        if (config.requests().misplaced() != MisplacedAction.ROUTE) {
            throw new UnreachableException(
                    "requests.misplaced is dead-letter: requests that wait on " + names.requests()
                            + " would become dead letters. Set requests.misplaced: route here and for the instances,"
                            + " until they have read these requests",
                    null);
        }
    }

    private Result run(MoveWriter writer, Consumer<String> progress) {
        String last = StatePartitions.changelog(config);
        for (String topic : plan.topics()) {
            if (!topic.equals(last)) {
                progress.accept("adding partitions to " + topic);
                topics.grow(topic, plan.to());
            }
        }
        progress.accept("copying the state of clients");
        List<StateMove> states = Stream.of(Stores.POLICY_STATES, Stores.LOG_SEGMENTS)
                .flatMap(store -> move(store, scan -> new StateMove(scan, clients, writer)).stream())
                .toList();
        Optional<IdempotencyMove> answers =
                move(Stores.IDEMPOTENCY, scan -> new IdempotencyMove(scan, clients, writer));
        Optional<ReservationMove> reservations =
                move(Stores.RESERVATIONS, scan -> new ReservationMove(scan, clients, writer));
        reservations.ifPresent(ReservationMove::copy);
        long copiedStates = states.stream().mapToLong(StateMove::copy).sum();
        long copiedAnswers = answers.map(IdempotencyMove::copy).orElse(0L);
        writer.commit();
        progress.accept("moving requests that are not decided yet");
        long waiting = move(Stores.WAITING_REQUESTS, scan -> new WaitingMove(scan, clients, writer))
                .map(WaitingMove::move)
                .orElse(0L);
        long routed = moveRouted(writer);
        progress.accept("deleting the state that was copied");
        states.forEach(StateMove::deleteMoved);
        answers.ifPresent(IdempotencyMove::deleteMoved);
        reservations.ifPresent(ReservationMove::deleteMoved);
        writer.commit();
        if (plan.topics().contains(last)) {
            progress.accept("adding partitions to " + last);
            topics.grow(last, plan.to());
        }
        return new Result(copiedStates, copiedAnswers, waiting, routed);
    }

    private <T> Optional<T> move(String store, Function<StoreScan, T> of) {
        String changelog = config.applicationId() + "-" + store + "-changelog";
        return topics.count(changelog) == 0
                ? Optional.empty()
                : Optional.of(of.apply(new StoreScan(config, changelog, topics.ends(changelog))));
    }

    /** Writes the routed requests that no task has read to the partitions of their clients. Returns their number. */
    private long moveRouted(MoveWriter writer) {
        String topic = names.routedRequests();
        Map<TopicPartition, Long> positions = positions();
        StoreScan routed = new StoreScan(config, topic, topics.ends(topic));
        long[] moved = {0};
        for (int number = 0; number < routed.partitions(); number++) {
            TopicPartition partition = new TopicPartition(topic, number);
            writer.begin();
            routed.read(number, positions.getOrDefault(partition, 0L), record -> {
                if (record.key() != null) {
                    writer.copy(record, clients.partitionOf(record.key()), record.key(), record.value());
                    moved[0]++;
                }
                writer.readTo(partition, record.offset() + 1);
                if (writer.isFull()) {
                    writer.begin();
                }
            });
            writer.commit();
        }
        return moved[0];
    }

    /** Returns the positions of the group, after open transactions of its members have ended. */
    private Map<TopicPartition, Long> positions() {
        try {
            Map<TopicPartition, Long> positions = new HashMap<>();
            Map<TopicPartition, OffsetAndMetadata> committed = admin.listConsumerGroupOffsets(
                            config.applicationId(), new ListConsumerGroupOffsetsOptions().requireStable(true))
                    .partitionsToOffsetAndMetadata()
                    .get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
            committed.forEach((partition, offset) -> {
                if (offset != null) {
                    positions.put(partition, offset.offset());
                }
            });
            return positions;
        } catch (ExecutionException | TimeoutException e) {
            Throwable why = e instanceof ExecutionException ? e.getCause() : e;
            throw new UnreachableException(
                    "cannot read the committed offsets: " + UnreachableException.causeMessage(why), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while reading the committed offsets", e);
        }
    }

    @Override
    public void close() {
        admin.close();
    }
}
