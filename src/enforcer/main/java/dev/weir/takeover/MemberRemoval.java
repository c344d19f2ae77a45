package dev.weir.takeover;

import dev.weir.kafka.UnreachableException;
import dev.weir.takeover.Announcement.Member;
import java.time.Duration;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsResult;
import org.apache.kafka.clients.admin.DescribeTransactionsResult;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsResult;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes a dead instance from its groups, so that their partitions are assigned to others at once, and then fences its
 * producers, which aborts their open transactions. In the other order, an instance that lives after all would begin
 * another transaction in between.
 *
 * <p>If it does live, it loses what it has not committed, which others do again, and joins its groups again.
 */
// Only ids of the own applications are touched, whatever was announced. An instance is removed only if its groups still
// have that incarnation of it: after a restart, its members have other ids. Each instance is removed at most once per
// INTERVAL, so that two instances with the same id, which is a wrong configuration, do not remove each other all the
// time.
public final class MemberRemoval implements PeerGroups, AutoCloseable {

    /** How often an instance is removed at most. */
    public static final Duration INTERVAL = Duration.ofMinutes(1);

    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private static final Logger LOG = LoggerFactory.getLogger(MemberRemoval.class);

    private final Set<String> applications;
    private final String requests;
    private final Supplier<Admin> admins;
    private final LongSupplier nanos;
    private final Map<String, Long> removedNanos = new ConcurrentHashMap<>(); // by instance
    private final Map<Evidence, LongAdder> removals = new EnumMap<>(Evidence.class);
    private Optional<Admin> admin = Optional.empty(); // guarded by this
    private boolean isClosed; // guarded by this

    /**
     * @param applications the ids of the own applications
     * @param requests the topic of requests
     * @param admins returns an admin client, which this closes
     */
    public MemberRemoval(Set<String> applications, String requests, Supplier<Admin> admins) {
        this(applications, requests, admins, System::nanoTime);
    }

    MemberRemoval(Set<String> applications, String requests, Supplier<Admin> admins, LongSupplier nanos) {
        this.applications = applications;
        this.requests = requests;
        this.admins = admins;
        this.nanos = nanos;
        for (Evidence evidence : Evidence.values()) {
            removals.put(evidence, new LongAdder());
        }
    }

    /** Returns how many instances were removed. */
    public long removals(Evidence evidence) {
        return removals.get(evidence).sum();
    }

    @Override
    public Optional<PeerActivity> activity(Announcement of) {
        removedNanos.values().removeIf(at -> nanos.getAsLong() - at >= INTERVAL.toNanos());
        if (removedNanos.containsKey(of.instance())) {
            return Optional.empty();
        }
        // All at once, since brokers can be slow while an instance fails.
        DescribeConsumerGroupsResult describing = admin().describeConsumerGroups(groupIds(of));
        ListConsumerGroupOffsetsResult fetching = admin().listConsumerGroupOffsets(groupIds(of).stream()
                .collect(Collectors.toMap(group -> group, group -> new ListConsumerGroupOffsetsSpec())));
        DescribeTransactionsResult transactions = admin().describeTransactions(ownProducers(of));
        Map<String, ConsumerGroupDescription> groups = get(describing.all());
        Map<String, List<Member>> listed = listed(of, groups);
        if (listed.isEmpty()) {
            return Optional.empty();
        }
        Map<TopicPartition, Long> committed = new HashMap<>();
        listed.forEach((group, members) -> committed.putAll(
                committed(get(fetching.partitionsToOffsetAndMetadata(group)), assigned(members, groups.get(group)))));
        return Optional.of(new PeerActivity(
                producers(of, transactions),
                committed,
                ends(committed.keySet()),
                groups.values().stream().anyMatch(group -> group.groupState() != GroupState.STABLE)));
    }

    @Override
    public void remove(Announcement dead, Evidence evidence) {
        Map<String, List<Member>> listed =
                listed(dead, get(admin().describeConsumerGroups(groupIds(dead)).all()));
        if (listed.isEmpty() && !removedNanos.containsKey(dead.instance())) {
            return; // another instance has removed it; otherwise this repeats what failed before
        }
        removedNanos.put(dead.instance(), nanos.getAsLong());
        listed.forEach((group, members) -> remove(group, members, dead.instance() + " " + evidence));
        List<String> producers = ownProducers(dead);
        if (!producers.isEmpty()) {
            get(admin().fenceProducers(producers).all());
        }
        removals.get(evidence).increment();
        LOG.warn("Instance {} {}: its partitions are taken over", dead.instance(), evidence);
    }

    private void remove(String group, List<Member> members, String reason) {
        Set<MemberToRemove> identities = members.stream()
                .map(member -> new MemberToRemove(member.instanceId()))
                .collect(Collectors.toSet());
        RemoveMembersFromConsumerGroupOptions options = new RemoveMembersFromConsumerGroupOptions(identities);
        options.reason(reason);
        var result = admin().removeMembersFromConsumerGroup(group, options);
        identities.forEach(member -> get(result.memberResult(member), UnknownMemberIdException.class));
    }

    private Set<String> groupIds(Announcement of) {
        return of.members().stream()
                .map(Member::group)
                .filter(applications::contains)
                .collect(Collectors.toSet());
    }

    /** Returns the members that their groups still have, by group; none if the instance has joined one again. */
    private static Map<String, List<Member>> listed(
            Announcement announced, Map<String, ConsumerGroupDescription> groups) {
        Map<String, List<Member>> listed = new HashMap<>();
        for (Member member : announced.members()) {
            Optional<String> present = Optional.ofNullable(groups.get(member.group()))
                    .flatMap(group -> find(group, member.instanceId()))
                    .map(MemberDescription::consumerId);
            if (present.isPresent() && !present.get().equals(member.memberId())) {
                return Map.of();
            }
            if (present.isPresent()) {
                listed.merge(member.group(), List.of(member), MemberRemoval::concat);
            }
        }
        return listed;
    }

    private static List<Member> concat(List<Member> some, List<Member> others) {
        return Stream.concat(some.stream(), others.stream()).toList();
    }

    private static Optional<MemberDescription> find(ConsumerGroupDescription group, String instanceId) {
        return group.members().stream()
                .filter(one -> one.groupInstanceId().equals(Optional.of(instanceId)))
                .findFirst();
    }

    private static Set<TopicPartition> assigned(List<Member> members, ConsumerGroupDescription group) {
        return members.stream()
                .flatMap(member -> find(group, member.instanceId()).stream())
                .flatMap(member -> member.assignment().topicPartitions().stream())
                .collect(Collectors.toSet());
    }

    private static Map<TopicPartition, Long> committed(
            Map<TopicPartition, OffsetAndMetadata> all, Set<TopicPartition> partitions) {
        Map<TopicPartition, Long> committed = new HashMap<>();
        partitions.forEach(partition -> committed.put(
                partition,
                Optional.ofNullable(all.get(partition))
                        .map(OffsetAndMetadata::offset)
                        .orElse(0L)));
        return committed;
    }

    private Map<TopicPartition, Long> ends(Collection<TopicPartition> partitions) {
        Map<TopicPartition, OffsetSpec> latest = partitions.stream()
                .filter(partition -> partition.topic().equals(requests))
                .collect(Collectors.toMap(partition -> partition, partition -> OffsetSpec.latest()));
        Map<TopicPartition, ListOffsetsResultInfo> ends =
                get(admin().listOffsets(latest).all());
        return ends.entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, end -> end.getValue()
                .offset()));
    }

    private Map<String, TransactionDescription> producers(Announcement of, DescribeTransactionsResult described) {
        Map<String, TransactionDescription> producers = new HashMap<>();
        for (String id : ownProducers(of)) {
            get(described.description(id), TransactionalIdNotFoundException.class)
                    .ifPresent(producer -> producers.put(id, producer));
        }
        return producers;
    }

    private List<String> ownProducers(Announcement of) {
        return of.transactionalIds().stream()
                .filter(id -> applications.stream().anyMatch(application -> id.startsWith(application + "-")))
                .toList();
    }

    private synchronized Admin admin() {
        if (isClosed) {
            throw new UnreachableException("the instance is stopping", null);
        }
        if (admin.isEmpty()) {
            admin = Optional.of(admins.get());
        }
        return admin.get();
    }

    private static <T> T get(KafkaFuture<T> future) {
        try {
            return future.get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new UnreachableException(e.getCause().toString(), e);
        } catch (TimeoutException e) {
            throw new UnreachableException("the brokers do not answer", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted", e);
        }
    }

    /** Returns empty if the request fails with {@code expected}. */
    private static <T> Optional<T> get(KafkaFuture<T> future, Class<? extends Exception> expected) {
        try {
            return Optional.ofNullable(get(future));
        } catch (UnreachableException e) {
            if (e.getCause() instanceof ExecutionException failed && expected.isInstance(failed.getCause())) {
                return Optional.empty();
            }
            throw e;
        }
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        admin.ifPresent(one -> one.close(Duration.ZERO));
    }
}
