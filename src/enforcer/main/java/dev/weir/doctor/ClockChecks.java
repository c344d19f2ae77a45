package dev.weir.doctor;

import dev.weir.policy.DurationsAndSizes;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ClusterAuthorizationException;
import org.apache.kafka.common.errors.UnsupportedVersionException;

/** Other clocks against this machine's, as far as they show without a record being written. */
final class ClockChecks {

    private static final long TOLERANCE_MS = 1_000;

    private ClockChecks() {}

    /** The leader of the controllers tells the time at which it answers, as that of its own last fetch. */
    static void controller(ClusterView cluster, FindingCollector notes) {
        long before = System.currentTimeMillis();
        QuorumInfo quorum;
        try {
            quorum = cluster.await(cluster.admin().describeMetadataQuorum().quorumInfo());
        } catch (ClusterAuthorizationException e) {
            notes.skip("not allowed", cluster.grantCommand("Describe", "--cluster"));
            return;
        } catch (UnsupportedVersionException e) {
            notes.skip(BrokerChecks.NO_QUORUM);
            return;
        }
        long after = System.currentTimeMillis();
        OptionalLong there = quorum.voters().stream()
                .filter(voter -> voter.replicaId() == quorum.leaderId())
                .flatMapToLong(voter -> voter.lastFetchTimestamp().stream())
                .findFirst();
        if (there.isEmpty()) {
            notes.skip("it does not tell");
            return;
        }
        compare("controller " + quorum.leaderId(), there.getAsLong(), before, after, notes);
    }

    /** A clock that showed something between two times of this one. */
    static void compare(String whose, long there, long before, long after, FindingCollector notes) {
        long offMs = there > after ? there - after : there < before ? there - before : 0;
        if (Math.abs(offMs) > TOLERANCE_MS) {
            notes.warn(
                    whose + " is " + MachineChecks.time(Math.abs(offMs)) + (offMs > 0 ? " ahead of" : " behind")
                            + " this machine: queues drain by all these clocks",
                    "timedatectl set-ntp true, on the machine that is wrong");
        } else {
            notes.ok(whose + " agrees within " + DurationsAndSizes.duration(TOLERANCE_MS));
        }
    }

    /** By the newest record that a broker has stamped: one from the future is of a clock that is ahead. */
    static void brokers(ClusterView cluster, FindingCollector notes) {
        Map<TopicPartition, OffsetSpec> stamped = new HashMap<>();
        for (String name :
                List.of(cluster.topics().decisions(), cluster.topics().admissions())) {
            TopicDescription topic = cluster.descriptions().get(name);
            if (topic != null) {
                topic.partitions()
                        .forEach(one ->
                                stamped.put(new TopicPartition(name, one.partition()), OffsetSpec.maxTimestamp()));
            }
        }
        long newest = cluster.await(cluster.admin().listOffsets(stamped).all()).values().stream()
                .mapToLong(ListOffsetsResultInfo::timestamp)
                .max()
                .orElse(-1);
        long now = System.currentTimeMillis();
        if (newest < 0) {
            notes.skip("no decision is there yet, whose time would tell");
        } else if (newest > now + TOLERANCE_MS) {
            compare("the broker of the newest decision", newest, now, now, notes);
        } else {
            notes.ok("not ahead: the newest decision is " + MachineChecks.time(Math.max(0, now - newest))
                    + " old; that none is behind does not show without writing");
        }
    }
}
