package dev.weir.event;

import java.util.Iterator;
import java.util.List;

/**
 * Names the state of one policy for one key. In order, so that a hash table of keys whose hashes somebody has made
 * alike still finds each of them fast.
 *
 * @param client whose it is; {@link #NO_CLIENT}: what is shared
 * @param policyId of which policy
 * @param namesAndValues the names and values of the policy's key fields beside the client, by turns, in the policy's
 *     order; a field that the request lacks has an empty value
 */
public record StateKey(String client, String policyId, List<String> namesAndValues) implements Comparable<StateKey> {

    /** No client is named so. */
    public static final String NO_CLIENT = "";

    /**
     * By hand, as {@link #hashCode}: a record's own goes through method handles, which cost more than all of the rest.
     */
    @Override
    public boolean equals(Object other) {
        return other instanceof StateKey key
                && client.equals(key.client)
                && policyId.equals(key.policyId)
                && namesAndValues.equals(key.namesAndValues);
    }

    @Override
    public int hashCode() {
        int ofOthers = namesAndValues.isEmpty() ? 0 : namesAndValues.hashCode();
        return 31 * (31 * client.hashCode() + policyId.hashCode()) + ofOthers;
    }

    @Override
    public int compareTo(StateKey other) {
        int order = client.compareTo(other.client);
        if (order == 0) {
            order = policyId.compareTo(other.policyId);
        }
        Iterator<String> theirs = other.namesAndValues.iterator();
        for (String ours : namesAndValues) {
            if (order != 0) {
                return order;
            }
            order = theirs.hasNext() ? ours.compareTo(theirs.next()) : 1;
        }
        return order == 0 && theirs.hasNext() ? -1 : order;
    }
}
