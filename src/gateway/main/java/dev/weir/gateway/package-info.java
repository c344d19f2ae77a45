/** The gateway: a stateless process that decides requests of proxies, for Envoy over gRPC and for others over HTTP. */
package dev.weir.gateway;
