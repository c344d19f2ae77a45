package dev.weir.client.lease;

import dev.weir.event.Request;
import dev.weir.event.StateKey;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** The leases of one policy by the values of its key fields. A lookup allocates nothing. Thread-safe. */
final class LeasedKeys {

    private final String[] fields;
    private final Node root = new Node();

    /** The leases whose keys begin with the same values. */
    private static final class Node {
        private final ConcurrentMap<String, Node> next = new ConcurrentHashMap<>(0);
        private volatile ClientLease lease;

        boolean isEmpty() {
            return lease == null && next.isEmpty();
        }
    }

    /**
     * Creates an empty table.
     *
     * @param fields the fields of the policy's key, in its order
     */
    LeasedKeys(List<String> fields) {
        this.fields = fields.toArray(String[]::new);
    }

    /** Returns the lease of a request's key, or null if there is none. */
    ClientLease find(Request request) {
        Node node = root;
        for (int i = 0; node != null && i < fields.length; i++) {
            String value = request.field(fields[i]);
            node = node.next.get(value == null ? "" : value);
        }
        return node == null ? null : node.lease;
    }

    synchronized void put(ClientLease lease) {
        Node node = root;
        for (int i = 0; i < fields.length; i++) {
            node = node.next.computeIfAbsent(value(lease.key(), i), value -> new Node());
        }
        node.lease = lease;
    }

    synchronized void remove(ClientLease lease) {
        remove(root, 0, lease);
    }

    private void remove(Node node, int depth, ClientLease lease) {
        if (depth == fields.length) {
            node.lease = null;
            return;
        }
        String value = value(lease.key(), depth);
        Node next = node.next.get(value);
        remove(next, depth + 1, lease);
        if (next.isEmpty()) {
            node.next.remove(value);
        }
    }

    private static String value(StateKey key, int field) {
        return key.namesAndValues().get(2 * field + 1);
    }
}
