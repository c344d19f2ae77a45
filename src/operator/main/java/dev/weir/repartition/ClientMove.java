package dev.weir.repartition;

import dev.weir.config.WeirConfig.MisplacedAction;
import dev.weir.event.StateKey;
import dev.weir.requests.RequestPlacement;
import java.nio.charset.StandardCharsets;
import java.util.OptionalInt;

/** Which clients move to which partition, if the number of partitions of the state changes. */
final class ClientMove {

    private final RequestPlacement before;
    private final RequestPlacement after;

    ClientMove(int from, int to) {
        before = new RequestPlacement(from, MisplacedAction.ROUTE);
        after = new RequestPlacement(to, MisplacedAction.ROUTE);
    }

    /**
     * Returns the partition to which the state of a client moves from a partition. Empty if it stays there, or if it is
     * not there: leftovers of an earlier repartitioning, or copies of an interrupted one, stay.
     */
    OptionalInt target(String client, int partition) {
        byte[] name = client.getBytes(StandardCharsets.UTF_8);
        int target = after.partitionOf(name);
        return client.equals(StateKey.NO_CLIENT) || before.partitionOf(name) != partition || target == partition
                ? OptionalInt.empty()
                : OptionalInt.of(target);
    }

    /** Returns the partition of a client afterwards. */
    int partitionOf(byte[] client) {
        return after.partitionOf(client);
    }
}
