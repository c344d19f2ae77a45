package dev.weir.gateway.envoy;

import dev.weir.gateway.envoy.proto.RateLimitDescriptor;
import dev.weir.gateway.envoy.proto.RateLimitRequest;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.util.List;

/** Builds what Envoy calls a gateway with. */
public final class EnvoyCalls {

    private EnvoyCalls() {}

    /** Returns a channel to a gateway on this machine, without TLS. */
    public static ManagedChannel channel(int port) {
        return NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
    }

    /** Returns a descriptor with a key and its value, and so on. */
    public static RateLimitDescriptor descriptor(String... pairs) {
        RateLimitDescriptor.Builder descriptor = RateLimitDescriptor.newBuilder();
        for (int i = 0; i < pairs.length; i += 2) {
            descriptor.addEntries(
                    RateLimitDescriptor.Entry.newBuilder().setKey(pairs[i]).setValue(pairs[i + 1]));
        }
        return descriptor.build();
    }

    /** Returns a request of the domain {@code edge}. */
    public static RateLimitRequest request(RateLimitDescriptor... descriptors) {
        return RateLimitRequest.newBuilder()
                .setDomain("edge")
                .addAllDescriptors(List.of(descriptors))
                .build();
    }
}
