package dev.weir.shape.total;

/**
 * The slots of a total that are lent to a partition: the most that its requests in flight may occupy. Each loan replaces
 * the one before. A borrower lowers it when it returns slots; only the ledger raises it, by a loan with another number.
 *
 * @param number counts the slots that were lent to the partition so far, from some number on. So the numbers of later
 *     loans are higher
 * @param slots 0 or more
 */
public record InFlightLoan(long number, long slots) {

    public static final InFlightLoan NONE = new InFlightLoan(0, 0);
}
