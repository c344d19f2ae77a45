package dev.weir.shape.total;

import java.util.OptionalLong;

/**
 * What a partition reports about the slots of a total.
 *
 * @param most the slots of all partitions, by the rules of this one; empty if they have no bound
 * @param loan the last loan that it has received, less what it has returned since
 * @param over the slots that its requests occupy beyond the loan, since they were released before there was a bound
 */
public record InFlightClaim(OptionalLong most, InFlightLoan loan, long over) {

    public static final InFlightClaim NONE = new InFlightClaim(OptionalLong.empty(), InFlightLoan.NONE, 0);
}
