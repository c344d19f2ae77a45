package dev.weir.simulation;

import dev.weir.topology.Stores;
import dev.weir.topology.Topics;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** A task as Kafka Streams assigns them: a part of a topology, and a partition of its input. */
record Slot(Role role, int partition) implements Comparable<Slot> {

    static final Topics TOPICS = Topics.of("weir.");
    static final String DECIDING = "weir";
    static final String SHAPING = "weir-shaping";

    private static final Comparator<Slot> ORDER =
            Comparator.comparing(Slot::role).thenComparing(Slot::partition);

    /** The parts of the topologies. */
    @SuppressWarnings("ImmutableEnumChecker") // the list is unmodifiable
    enum Role {
        DECIDE(
                DECIDING,
                TOPICS.requests(),
                List.of(
                        Stores.POLICY_STATES,
                        Stores.LOG_SEGMENTS,
                        Stores.FIRST_ANSWERS,
                        Stores.LEASE_BOOKS,
                        Stores.WAITING_REQUESTS)),
        SHAPE(
                SHAPING,
                TOPICS.admissions(),
                List.of(
                        Stores.QUEUE_STATES,
                        Stores.QUEUE_SLOTS,
                        Stores.QUEUE_TICKETS,
                        Stores.QUEUE_ALARMS,
                        Stores.QUEUE_FIRST_ANSWERS)),
        CHECK(SHAPING, TOPICS.policies(), List.of(Stores.GOOD_POLICIES));

        final String group;
        final String input;
        final List<String> stores;

        Role(String group, String input, List<String> stores) {
            this.group = group;
            this.input = input;
            this.stores = stores;
        }
    }

    Partition input(Cluster cluster) {
        return cluster.partition(role.input, partition);
    }

    Partition changelog(Cluster cluster, String store) {
        return cluster.partition(role.group + "-" + store + "-changelog", partition);
    }

    @Override
    public int compareTo(Slot other) {
        return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
        return role.name().toLowerCase(Locale.ROOT) + "/" + partition;
    }
}
