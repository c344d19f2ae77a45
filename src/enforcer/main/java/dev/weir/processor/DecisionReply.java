package dev.weir.processor;

import dev.weir.event.Decision;

/**
 * A copy of a decision for the requester.
 *
 * @param partition the partition of the topic of replies that the requester reads
 */
public record DecisionReply(Decision decision, int partition) {}
