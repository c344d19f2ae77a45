package dev.weir.grpc;

import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Optional;

/**
 * What the request for a call is made of.
 *
 * @param method the method, whose {@linkplain MethodDescriptor#getFullMethodName full name} is like
 *     {@code shop.Articles/Get}
 * @param headers the metadata of the call, which must not be changed
 * @param attributes the attributes of the transport, such as the TLS session
 */
public record GrpcCall(MethodDescriptor<?, ?> method, Metadata headers, Attributes attributes) {

    /**
     * Returns the full name of the method.
     *
     * @return the name of the service, a slash and the name of the method
     */
    public String methodName() {
        return method.getFullMethodName();
    }

    /**
     * Returns a value of the metadata.
     *
     * @param name the name of the header, without the suffix {@code -bin}
     * @return the last value of that name; empty if there is none
     */
    public Optional<String> header(String name) {
        return Optional.ofNullable(headers.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER)));
    }

    /**
     * Returns the address of the peer, which can be that of a proxy.
     *
     * @return the IP address as text; another address, such as that of a Unix domain socket, as the transport prints it;
     *     empty if it is unknown
     */
    public Optional<String> peer() {
        SocketAddress peer = attributes.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
        if (peer instanceof InetSocketAddress internet) {
            InetAddress address = internet.getAddress();
            return Optional.of(address == null ? internet.getHostString() : address.getHostAddress());
        }
        return Optional.ofNullable(peer).map(SocketAddress::toString);
    }
}
