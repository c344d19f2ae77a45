package dev.weir.simulation.cluster;

import dev.weir.kafka.Topics;
import dev.weir.topology.Stores;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** A task as Kafka Streams assigns it: a part of a topology, and a partition of its inputs. */
public record SimulatedTaskSlot(Role role, int partition) implements Comparable<SimulatedTaskSlot> {

    public static final Topics TOPICS = new Topics("weir.", "weir");
    public static final String DECIDING = "weir";
    public static final String SHAPING = "weir-shaping";

    private static final Comparator<SimulatedTaskSlot> ORDER =
            Comparator.comparing(SimulatedTaskSlot::role).thenComparing(SimulatedTaskSlot::partition);

    /** The parts of the topologies. */
    @SuppressWarnings("ImmutableEnumChecker") // the lists are unmodifiable
    public enum Role {
        DECIDE(
                DECIDING,
                List.of(TOPICS.leaseResponses(), TOPICS.requests(), TOPICS.routedRequests()),
                List.of(
                        Stores.POLICY_STATES,
                        Stores.LOG_SEGMENTS,
                        Stores.IDEMPOTENCY,
                        Stores.RESERVATIONS,
                        Stores.LEASE_BOOKS,
                        Stores.WAITING_REQUESTS,
                        Stores.DECISION_ORDER)),
        SHAPE(
                SHAPING,
                List.of(TOPICS.admissions()),
                List.of(
                        Stores.QUEUE_STATES,
                        Stores.QUEUE_ENTRIES,
                        Stores.QUEUE_TICKETS,
                        Stores.QUEUE_EXPIRY_TIMERS,
                        Stores.QUEUE_TIMERS,
                        Stores.QUEUE_SCHEDULE,
                        Stores.QUEUE_IDEMPOTENCY)),
        LEND(SHAPING, List.of(TOPICS.leaseRequests()), List.of(Stores.LEDGERS, Stores.LEDGER_SEGMENTS)),
        CHECK(SHAPING, List.of(TOPICS.policies()), List.of(Stores.GOOD_POLICIES));

        public final String group;

        /** The input topics. Records of the first ones are processed first. */
        final List<String> inputs;

        public final List<String> stores;

        Role(String group, List<String> inputs, List<String> stores) {
            this.group = group;
            this.inputs = inputs;
            this.stores = stores;
        }
    }

    public List<SimulatedPartition> inputs(SimulatedCluster cluster) {
        return role.inputs.stream()
                .map(topic -> cluster.partition(topic, partition))
                .toList();
    }

    SimulatedPartition changelog(SimulatedCluster cluster, String store) {
        return cluster.partition(role.group + "-" + store + "-changelog", partition);
    }

    @Override
    public int compareTo(SimulatedTaskSlot other) {
        return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
        return role.name().toLowerCase(Locale.ROOT) + "/" + partition;
    }
}
