package dev.weir.shape.total;

import dev.weir.shape.rules.Pacing;

/**
 * Time of a queue's total that is granted without a break. A request of cost c takes the time of c tokens, at any place
 * in it.
 *
 * @param start the start of the time
 * @param tokens the number of tokens that can leave in it, 1 or more
 */
public record GrantedRun(Pacing.Arrival start, long tokens) {}
