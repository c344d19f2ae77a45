package dev.weir.policy;

import java.util.Map;

/**
 * What somebody has decided by a slice of shared quota that is lent to it, since it told so last: all of it together is what was
 * allowed.
 *
 * @param holder who
 * @param lease the slice, as its ledger calls it; 0: it has had none so far
 * @param key the fields of the policy's key and their values; a field that the requests lack has an empty value
 * @param cost of the requests that were allowed, in all
 * @param requests how many were allowed
 * @param denied how many were denied by this policy
 * @param sinceMs when the first of those that were allowed came, or of the denied if none was, ms since the epoch
 */
public record LeaseUse(
        String holder, long lease, Map<String, String> key, long cost, long requests, long denied, long sinceMs) {

    public LeaseUse {
        key = Map.copyOf(key);
    }
}
