package dev.weir.bench.gateway;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Callers of Envoy's rate limit service. As the threads of Envoy do, they share a few connections. */
final class GrpcCallers implements GatewayCaller.Factory, AutoCloseable {

    private final byte[][] requests;
    private final List<ManagedChannel> channels = new ArrayList<>();
    private int created;

    /** @param clients the number of clients, which have the numbers from 0 */
    GrpcCallers(int port, int connections, String domain, int clients) {
        requests = IntStream.range(0, clients)
                .mapToObj(client -> RateLimitMessages.request(domain, "client-" + client))
                .toArray(byte[][]::new);
        for (int i = 0; i < connections; i++) {
            channels.add(NettyChannelBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                    .usePlaintext()
                    .directExecutor()
                    .build());
        }
    }

    @Override
    public GatewayCaller create() {
        ManagedChannel channel = channels.get(created++ % channels.size());
        return client -> {
            byte[] response = ClientCalls.blockingUnaryCall(
                    channel, RateLimitMessages.METHOD, CallOptions.DEFAULT, requests[client]);
            if (!RateLimitMessages.isAllowed(response)) {
                throw new IllegalStateException("a request was not allowed");
            }
        };
    }

    @Override
    public void close() {
        channels.forEach(ManagedChannel::shutdownNow);
    }
}
