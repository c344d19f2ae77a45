package dev.weir.policy;

import java.util.List;

/**
 * Names the state of one policy for one key.
 *
 * @param client whose it is
 * @param policyId of which policy
 * @param others the names and values of the policy's key fields beside the client, by turns, in the policy's order; a field
 *     that the request lacks has an empty value
 */
public record StateKey(String client, String policyId, List<String> others) {}
