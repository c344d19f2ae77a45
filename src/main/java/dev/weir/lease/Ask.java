package dev.weir.lease;

import java.util.List;

/**
 * What a holder tells a ledger: what it has used and still holds, and what it wants.
 *
 * @param holder who asks
 * @param least what is of use to it at all: the cost of the request that waits first; 0: it only reports
 * @param want what it expects to use within the term, {@code least} or more
 * @param settled what turned out to have been used beside all slices; below zero: used of them but not needed
 */
public record Ask(String holder, long least, long want, List<Report> reports, long settled) {

    /**
     * What became of one slice since it was lent; later reports of it say all that earlier ones said.
     *
     * @param lease names it
     * @param used in all
     * @param lastUsedMs the time of the last use; without a meaning if there was none
     * @param held what is left and is not given back
     */
    public record Report(long lease, long used, long lastUsedMs, long held) {}
}
