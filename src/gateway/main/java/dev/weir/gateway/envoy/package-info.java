/** Envoy's rate limit service v3 over gRPC. Only this package uses gRPC and protobuf. */
package dev.weir.gateway.envoy;
