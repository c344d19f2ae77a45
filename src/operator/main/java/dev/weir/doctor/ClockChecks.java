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

/** Compares other clocks with that of this machine, as far as this is possible without writing a record. */
final class ClockChecks {

    private static final long TOLERANCE_MS = 1_000;

    private ClockChecks() {}

    /**
     * Compares the clock of the active controller, which returns the current time as the time of its own last fetch.
     */
    static void controller(ClusterView cluster, FindingCollector findings) {
        long before = System.currentTimeMillis();
        QuorumInfo quorum;
        try {
            quorum = cluster.await(cluster.admin().describeMetadataQuorum().quorumInfo());
        } catch (ClusterAuthorizationException e) {
            findings.skip(
                    "this user is not permitted to describe the cluster",
                    cluster.grantCommand("Describe", "--cluster"));
            return;
        } catch (UnsupportedVersionException e) {
            findings.skip(BrokerChecks.NO_QUORUM);
            return;
        }
        long after = System.currentTimeMillis();
        OptionalLong there = quorum.voters().stream()
                .filter(voter -> voter.replicaId() == quorum.leaderId())
                .flatMapToLong(voter -> voter.lastFetchTimestamp().stream())
                .findFirst();
        if (there.isEmpty()) {
            findings.skip("the controller does not return its time");
            return;
        }
        compare("controller " + quorum.leaderId(), there.getAsLong(), before, after, findings);
    }

    /** Compares a time of another clock, which was read between two times of this one. */
    static void compare(String whose, long there, long before, long after, FindingCollector findings) {
        long offMs = there > after ? there - after : there < before ? there - before : 0;
        if (Math.abs(offMs) > TOLERANCE_MS) {
            findings.warn(
                    whose + " is " + DurationsAndSizes.rounded(Math.abs(offMs)) + (offMs > 0 ? " ahead of" : " behind")
                            + " this machine: the clocks must be synchronized",
                    "on the machine whose clock is wrong: timedatectl set-ntp true");
        } else {
            findings.ok(whose + " agrees within " + DurationsAndSizes.duration(TOLERANCE_MS));
        }
    }

    /**
     * Compares the timestamp of the newest record that a broker has stamped. If it is in the future, the broker's clock
     * is ahead.
     */
    static void brokers(ClusterView cluster, FindingCollector findings) {
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
            findings.skip("there is no decision yet whose timestamp could be compared");
        } else if (newest > now + TOLERANCE_MS) {
            compare("the broker of the newest decision", newest, now, now, findings);
        } else {
            findings.ok(
                    "no broker is ahead: the newest decision is " + DurationsAndSizes.rounded(Math.max(0, now - newest))
                            + " old; a broker that is behind cannot be detected without writing");
        }
    }
}
