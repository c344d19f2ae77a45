package dev.weir.gateway.envoy;

import dev.weir.client.decision.XRateLimitFields;
import dev.weir.gateway.envoy.mapping.CallBounds;
import dev.weir.gateway.envoy.mapping.EntryTexts;
import dev.weir.gateway.envoy.mapping.EnvoyMapping;
import dev.weir.gateway.envoy.message.ResponseContents;
import dev.weir.server.decide.RequestDecider;
import java.time.Duration;
import java.util.Optional;

/**
 * The configuration of the rate limit service.
 *
 * @param mapping how calls become requests
 * @param contents what responses contain
 * @param bounds the bounds of calls
 * @param connections the bounds of connections
 * @param threads the threads that serve connections and run their calls
 * @param drain the longest time to complete the calls in progress when the server is closed
 * @param tls the files for TLS; empty for plain text
 */
public record EnvoyConfig(
        EnvoyMapping mapping,
        ResponseContents contents,
        CallBounds bounds,
        ConnectionBounds connections,
        int threads,
        Duration drain,
        Optional<EnvoyTls> tls) {

    /** The configuration without a file. */
    public static final EnvoyConfig DEFAULTS = new EnvoyConfig(
            EnvoyMapping.DEFAULTS,
            ResponseContents.DEFAULTS,
            CallBounds.DEFAULTS,
            ConnectionBounds.DEFAULTS,
            Math.max(2, Runtime.getRuntime().availableProcessors()),
            RequestDecider.MAX_TIMEOUT,
            Optional.empty());

    /** Returns a copy that makes other texts of those of descriptors. */
    public EnvoyConfig with(EntryTexts texts) {
        EnvoyMapping other = new EnvoyMapping(mapping.rules(), mapping.otherwise(), mapping.isMerged(), texts);
        return new EnvoyConfig(other, contents, bounds, connections, threads, drain, tls);
    }

    /** Returns a copy whose responses have other older rate-limit headers. */
    public EnvoyConfig with(XRateLimitFields older) {
        return new EnvoyConfig(mapping, contents.with(older), bounds, connections, threads, drain, tls);
    }

    /** Returns a copy with other bounds of connections. */
    public EnvoyConfig with(ConnectionBounds other) {
        return new EnvoyConfig(mapping, contents, bounds, other, threads, drain, tls);
    }
}
