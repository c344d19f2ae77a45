package dev.weir.runtime;

import dev.weir.pacing.CommitPacing;
import dev.weir.takeover.Announcement;
import dev.weir.takeover.MemberRemoval;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.streams.KafkaClientSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A supplier of Kafka clients whose commits are paced and whose consumers can be woken up: a poll in progress then
 * returns no records. The consumers of an application with {@link AddedPartitionsAssignor#STATE_PARTITIONS} use that
 * assignor.
 */
public final class WakeableClients implements KafkaClientSupplier {

    private static final Logger LOG = LoggerFactory.getLogger(WakeableClients.class);

    private final List<Polling> consumers = new CopyOnWriteArrayList<>();
    private final List<Polling> mainConsumers = new CopyOnWriteArrayList<>();
    private final Set<String> transactionalIds = ConcurrentHashMap.newKeySet();
    private final Map<String, Joined> joined = new ConcurrentHashMap<>(); // the last of each static member
    private final CommitPacing commits;

    /** @param againNanos when the member has joined again under another id; empty if this is its first */
    private record Joined(String memberId, OptionalLong againNanos) {}

    /** @param commits the pace of the threads that use the clients */
    public WakeableClients(CommitPacing commits) {
        this.commits = commits;
    }

    /** Ends the polls in progress. */
    void wake() {
        consumers.forEach(Polling::wake);
    }

    /** Returns whether the last poll of a main consumer began {@code limit} ago or earlier. */
    boolean isStalled(Duration limit) {
        return mainConsumers.stream().anyMatch(consumer -> consumer.isStalled(limit));
    }

    /**
     * Returns the lag of each partition that a main consumer reads, as of its last fetch. Reads a few hundred metrics;
     * {@code KafkaStreams.metrics()} copies those of all clients and stores, which are thousands.
     */
    Map<TopicPartition, Long> lags() {
        Map<TopicPartition, Long> lags = new HashMap<>();
        for (Polling main : mainConsumers) {
            for (Metric metric : main.consumer.metrics().values()) {
                Map<String, String> tags = metric.metricName().tags();
                boolean isLag = metric.metricName().name().equals("records-lag") && tags.containsKey("partition");
                if (isLag && metric.metricValue() instanceof Number lag && !Double.isNaN(lag.doubleValue())) {
                    lags.merge(
                            new TopicPartition(tags.get("topic"), Integer.parseInt(tags.get("partition"))),
                            lag.longValue(),
                            Math::max);
                }
            }
        }
        return lags;
    }

    /** Returns the static members of the main consumers that have joined their group. */
    List<Announcement.Member> members() {
        return mainConsumers.stream()
                .flatMap(main -> main.member.stream())
                .sorted(Comparator.comparing(Announcement.Member::instanceId))
                .toList();
    }

    /** Returns whether a static member has joined again, under another id, within {@link MemberRemoval#INTERVAL}. */
    boolean hasJoinedAgain() {
        return joined.values().stream()
                .flatMapToLong(one -> one.againNanos.stream())
                .anyMatch(at -> System.nanoTime() - at < MemberRemoval.INTERVAL.toNanos());
    }

    private void join(Announcement.Member member) {
        joined.compute(member.instanceId(), (id, before) -> {
            if (before == null || before.memberId.equals(member.memberId())) {
                return before == null ? new Joined(member.memberId(), OptionalLong.empty()) : before;
            }
            LOG.warn("{} has joined {} again, after it was removed or its session had ended", id, member.group());
            return new Joined(member.memberId(), OptionalLong.of(System.nanoTime()));
        });
    }

    List<String> transactionalIds() {
        return transactionalIds.stream().sorted().toList();
    }

    @Override
    public Admin getAdmin(Map<String, Object> config) {
        return Admin.create(config);
    }

    @Override
    public Producer<byte[], byte[]> getProducer(Map<String, Object> config) {
        Optional.ofNullable(config.get(ProducerConfig.TRANSACTIONAL_ID_CONFIG))
                .ifPresent(id -> transactionalIds.add(id.toString()));
        return commits.pacedProducer(config);
    }

    @Override
    public Consumer<byte[], byte[]> getConsumer(Map<String, Object> config) {
        if (config.containsKey(AddedPartitionsAssignor.STATE_PARTITIONS)) { // Kafka Streams sets its own assignor
            config.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG, AddedPartitionsAssignor.class.getName());
        }
        Polling polling = new Polling(commits.pacedConsumer(config), true);
        mainConsumers.add(polling);
        return wakeable(polling);
    }

    @Override
    public Consumer<byte[], byte[]> getRestoreConsumer(Map<String, Object> config) {
        return wakeable(new Polling(
                new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer()), false));
    }

    @Override
    public Consumer<byte[], byte[]> getGlobalConsumer(Map<String, Object> config) {
        return getRestoreConsumer(config);
    }

    /** Returns a proxy of a consumer that {@link #wake} wakes up until it is closed. */
    @SuppressWarnings("unchecked")
    private Consumer<byte[], byte[]> wakeable(Polling polling) {
        consumers.add(polling);
        return (Consumer<byte[], byte[]>) Proxy.newProxyInstance(
                Consumer.class.getClassLoader(),
                new Class<?>[] {Consumer.class},
                (proxy, method, arguments) -> polling.call(method, arguments));
    }

    /** A consumer that is woken up only during a poll, since other calls would fail with a WakeupException. */
    private final class Polling {
        private final Consumer<byte[], byte[]> consumer;
        private final boolean isMain;
        private boolean isPolling;
        private boolean isWoken;
        private volatile Optional<Announcement.Member> member = Optional.empty();
        private OptionalLong pollNanos = OptionalLong.empty(); // when the last poll began

        Polling(Consumer<byte[], byte[]> consumer, boolean isMain) {
            this.consumer = consumer;
            this.isMain = isMain;
        }

        private synchronized void wake() {
            if (isPolling && !isWoken) {
                isWoken = true;
                consumer.wakeup();
            }
        }

        private synchronized boolean isStalled(Duration limit) {
            return pollNanos.isPresent() && System.nanoTime() - pollNanos.getAsLong() >= limit.toNanos();
        }

        Object call(Method method, Object... arguments) throws Throwable {
            return switch (method.getName()) {
                case "poll" -> poll(method, arguments);
                case "close" -> {
                    consumers.remove(this);
                    mainConsumers.remove(this);
                    yield invoke(method, arguments);
                }
                default -> other(method, arguments);
            };
        }

        private Object poll(Method method, Object... arguments) throws Throwable {
            startPoll();
            try {
                Object records = invoke(method, arguments);
                if (isMain) {
                    readMember();
                }
                return records;
            } catch (WakeupException e) {
                takeWoken();
                return ConsumerRecords.empty();
            } finally {
                endPoll();
            }
        }

        /**
         * Invokes a method other than poll and close. If a poll ended just before it was woken up, the next call fails
         * with a WakeupException and is repeated.
         */
        private Object other(Method method, Object... arguments) throws Throwable {
            try {
                return invoke(method, arguments);
            } catch (WakeupException e) {
                if (takeWoken()) {
                    return invoke(method, arguments);
                }
                throw e;
            }
        }

        /** Reads what only the polling thread can: who this consumer is in its group. */
        private void readMember() {
            ConsumerGroupMetadata group = consumer.groupMetadata();
            boolean isMember = !group.memberId().isEmpty();
            if (isMember && !member.map(Announcement.Member::memberId).equals(Optional.of(group.memberId()))) {
                member = group.groupInstanceId()
                        .map(id -> new Announcement.Member(group.groupId(), id, group.memberId()));
                member.ifPresent(WakeableClients.this::join);
            }
        }

        private synchronized void startPoll() {
            isPolling = true;
            pollNanos = OptionalLong.of(System.nanoTime());
        }

        private synchronized void endPoll() {
            isPolling = false;
        }

        private synchronized boolean takeWoken() {
            boolean woken = isWoken;
            isWoken = false;
            return woken;
        }

        private Object invoke(Method method, Object... arguments) throws Throwable {
            try {
                return method.invoke(consumer, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }
    }
}
