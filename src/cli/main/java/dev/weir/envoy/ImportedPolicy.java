package dev.weir.envoy;

import dev.weir.envoy.EnvoyDescriptor.Limit;
import dev.weir.envoy.EnvoyDescriptor.Place;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A policy that was converted from a descriptor.
 *
 * @param id the id
 * @param place the descriptor; empty if the policy only permits what no descriptor limits
 * @param priority the priority
 * @param match the pattern of each field
 * @param key the fields that are counted together
 * @param limit the limit, which is unlimited if the policy only permits
 */
record ImportedPolicy(
        String id, Optional<Place> place, int priority, Map<String, String> match, List<String> key, Limit limit) {}
