package dev.weir.requests;

import dev.weir.event.Request;

/**
 * A request that was routed to the task that decides it. After a repartitioning, it may be from the partition that this
 * task reads itself.
 */
public record RoutedRequest(Request request) {}
