package dev.weir.policy;

import java.util.List;

/**
 * Names the state of one policy for one key.
 *
 * @param client whose it is
 * @param policyId of which policy
 * @param others the values of the policy's key fields beside the client, in the policy's order; a field that the request
 *     lacks is an empty value
 */
public record StateKey(String client, String policyId, List<String> others) {}
