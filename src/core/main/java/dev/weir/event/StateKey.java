package dev.weir.event;

import java.util.Iterator;
import java.util.List;

/**
 * The key of one policy's state. It is comparable, so that hash tables stay fast even if clients choose names whose
 * hash codes collide.
 *
 * @param client the client; {@link #NO_CLIENT} for shared quota
 * @param policyId the id of the policy
 * @param namesAndValues the names and values of the policy's key fields other than the client, alternating, in the
 *     policy's order; a field that the request lacks has an empty value
 */
public record StateKey(String client, String policyId, List<String> namesAndValues) implements Comparable<StateKey> {

    /** The client of shared quota; no client has this name. */
    public static final String NO_CLIENT = "";

    /**
     * Written by hand, like {@link #hashCode}: a record's generated method goes through method handles, which
     * are slower.
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
