package dev.weir.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.config.WeirConfig;
import dev.weir.server.http.QueryParameters;
import dev.weir.wire.json.Json;
import io.javalin.http.Context;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * What the configured gateways report about themselves, for the live page. They are polled when the page asks, at most
 * once a second for all viewers together.
 */
final class GatewayFeed {

    private static final Duration ANSWER_TIMEOUT = Duration.ofMillis(600);
    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final WeirConfig.Service settings;
    private final PeerInstances peers;
    private CompletableFuture<String> latest = CompletableFuture.completedFuture(""); // guarded by this
    private long askedNanos = System.nanoTime() - INTERVAL_NANOS; // guarded by this

    GatewayFeed(WeirConfig.Service settings, PeerInstances peers) {
        this.settings = settings;
        this.peers = peers;
    }

    /** Responds with the state of each gateway, or why it is unknown. */
    void list(Context request) {
        QueryParameters.requireNone(request);
        request.future(() -> latest().thenAccept(
                        json -> request.contentType("application/json").result(json)));
    }

    private synchronized CompletableFuture<String> latest() {
        long nowNanos = System.nanoTime();
        if (latest.isDone() && nowNanos - askedNanos >= INTERVAL_NANOS) {
            askedNanos = nowNanos;
            latest = CompletableFuture.supplyAsync(this::addresses).thenCompose(this::askAll);
        }
        return latest;
    }

    /**
     * Returns the addresses of the gateways. A host name with several addresses is several gateways, except with TLS,
     * since a certificate names hosts.
     */
    private List<String> addresses() {
        return settings.gateways().stream()
                .flatMap(address -> settings.tls().isPresent() ? Stream.of(address) : resolved(address))
                .distinct()
                .limit(WeirConfig.Service.MAX_GATEWAYS)
                .toList();
    }

    private static Stream<String> resolved(String address) {
        int colon = address.lastIndexOf(':');
        try {
            InetAddress[] found = InetAddress.getAllByName(address.substring(0, colon));
            boolean isOne = found.length == 1 || Stream.of(found).allMatch(InetAddress::isLoopbackAddress);
            return isOne
                    ? Stream.of(address)
                    : Stream.of(found)
                            .map(one -> one instanceof Inet6Address
                                    ? "[" + one.getHostAddress() + "]"
                                    : one.getHostAddress())
                            .map(host -> host + address.substring(colon))
                            .sorted();
        } catch (UnknownHostException e) {
            return Stream.of(address); // the call fails with the same error
        }
    }

    private CompletableFuture<String> askAll(List<String> addresses) {
        List<CompletableFuture<ObjectNode>> answers =
                addresses.stream().map(this::ask).toList();
        return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                .thenApply(done -> {
                    ObjectNode all = JsonViews.object();
                    ArrayNode list = all.putArray("gateways");
                    answers.forEach(answer -> list.add(answer.join()));
                    return Json.write(all);
                });
    }

    private CompletableFuture<ObjectNode> ask(String address) {
        return peers.get(address, WeirConfig.Service.GATEWAY_STATUS_PATH, ANSWER_TIMEOUT)
                .thenApply(Json::read)
                .handle((status, failure) -> described(address, status, failure));
    }

    private static ObjectNode described(String address, JsonNode status, Throwable failure) {
        ObjectNode gateway = JsonViews.object().put("address", address);
        if (failure == null) {
            gateway.set("status", status);
            gateway.putNull("failure");
        } else {
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            gateway.putNull("status");
            gateway.put(
                    "failure",
                    cause instanceof IllegalStateException ? cause.getMessage() : "it " + PeerInstances.why(cause));
        }
        return gateway;
    }
}
