package dev.weir.audit.shared;

import dev.weir.event.StateKey;

/**
 * A shared quota that a decision charged.
 *
 * @param key the key of the quota
 * @param observes whether its policy only observes, so that the quota may not have been charged
 */
public record ChargedQuota(StateKey key, boolean observes) {}
