package dev.weir.gateway;

import dev.weir.http.PathRules;

/**
 * How the calls of proxies are read.
 *
 * @param address finds the addresses of clients
 * @param original how proxies pass on the request that they have received
 * @param paths normalizes the paths of these requests
 */
public record ProxyRules(ForwardedAddress address, OriginalRequest original, PathRules paths) {}
