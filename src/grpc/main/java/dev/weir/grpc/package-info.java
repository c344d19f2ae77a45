/** A gRPC server interceptor that gets a decision by Weir before a call is handled. */
package dev.weir.grpc;
