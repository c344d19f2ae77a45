package dev.weir.config;

import dev.weir.config.WeirConfig.Commits;
import dev.weir.config.WeirConfig.Leases;
import dev.weir.config.WeirConfig.PartitionBounds;
import dev.weir.config.WeirConfig.Requests;
import dev.weir.config.WeirConfig.Service;
import dev.weir.config.WeirConfig.Service.Listener;
import dev.weir.config.WeirConfig.Service.Timeouts;
import dev.weir.config.WeirConfig.Service.Tls;
import dev.weir.config.WeirConfig.Service.Tokens;
import dev.weir.config.WeirConfig.Shaping;
import dev.weir.config.WeirConfig.State;
import dev.weir.config.WeirConfig.Takeover;
import dev.weir.config.WeirConfig.Topics;
import dev.weir.definition.YamlTree;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Builds each section of the configuration from the file. Missing values and values with a fault are defaults. */
final class SettingsReader {

    private SettingsReader() {}

    static Topics topics(ConfigSection section, Topics defaults) {
        return new Topics(
                section.read(Topics.PREFIX, defaults.prefix()),
                section.read(Topics.PARTITIONS, defaults.partitions()),
                section.read(Topics.REPLY_PARTITIONS, defaults.replyPartitions()),
                section.read(Topics.REPLICATION_FACTOR, defaults.replicationFactor()),
                section.read(Topics.OUTPUT_FORMAT, defaults.outputFormat()));
    }

    static State state(ConfigSection section, State defaults) {
        return new State(
                section.read(State.DIRECTORY, defaults.directory()),
                section.read(State.MEMORY, defaults.memoryBytes()),
                section.read(State.HOT_MEMORY, defaults.hotMemoryBytes()),
                section.read(State.CLEANUP_INTERVAL, defaults.cleanupInterval()),
                section.read(State.CLEANUP_KEYS, defaults.cleanupKeys()),
                section.read(State.RETENTION, defaults.retention()),
                new PartitionBounds(
                        section.read(
                                PartitionBounds.IDEMPOTENCY_KEYS,
                                defaults.most().idempotencyKeys()),
                        section.read(
                                PartitionBounds.RESERVATIONS, defaults.most().reservations())));
    }

    static Requests requests(ConfigSection section, Requests defaults) {
        return new Requests(
                section.read(Requests.PAYLOAD, defaults.maxPayloadBytes()),
                section.read(Requests.ATTRIBUTES, defaults.maxAttributes()),
                section.read(Requests.ATTRIBUTE_LENGTH, defaults.maxAttributeLength()),
                section.read(Requests.COST, defaults.maxCost()),
                section.read(Requests.MISPLACED, defaults.misplaced()),
                section.read(Requests.AHEAD, defaults.maxAhead()));
    }

    static Shaping shaping(ConfigSection section, Shaping defaults) {
        return new Shaping(
                section.read(Shaping.THREADS, defaults.threads()), section.read(Shaping.HOT_KEYS, defaults.hotKeys()));
    }

    /** A minimum that is not set is at most the maximum that is. */
    static Commits commits(ConfigSection section, Commits defaults) {
        Duration max = section.read(Commits.MAX, defaults.max());
        Duration smallest = defaults.min().compareTo(max) <= 0 ? defaults.min() : max;
        Duration min = section.read(Commits.MIN, smallest);
        Commits read = section.get("min").noting(() -> new Commits(min, max));
        return read == null ? defaults : read;
    }

    static Leases leases(ConfigSection section, Leases defaults) {
        return new Leases(section.read(Leases.TERM, defaults.term()), section.read(Leases.LEAD, defaults.lead()));
    }

    static Takeover takeover(ConfigSection section, Takeover defaults) {
        return new Takeover(
                section.read(Takeover.ENABLED, defaults.enabled()),
                section.read(Takeover.SUSPECT_AFTER, defaults.suspectAfter()));
    }

    /** @param references replaces the references to environment variables in a text */
    static Service service(ConfigSection section, Service defaults, UnaryOperator<String> references) {
        return new Service(
                section.read(Service.ENABLED, defaults.enabled()),
                listener(section, defaults.listener(), references),
                new Tokens(
                        section.read(Tokens.FILE, defaults.tokens().file()),
                        section.read(Tokens.READ, defaults.tokens().read()),
                        section.read(Tokens.DECIDE, defaults.tokens().decide())),
                new Timeouts(
                        section.read(Timeouts.REQUEST, defaults.timeouts().request()),
                        section.read(Timeouts.BACKTEST, defaults.timeouts().backtest())),
                tls(section.get("tls"), defaults.tls()),
                gateways(section.get("gateways"), defaults.gateways()),
                section.read(Service.X_RATE_LIMIT, defaults.xRateLimit()));
    }

    private static Listener listener(ConfigSection section, Listener defaults, UnaryOperator<String> references) {
        Setting<String> advertise = Setting.of(Listener.ADVERTISE.key(), references, Listener.ADVERTISE.check());
        return new Listener(
                section.read(Listener.HOST, defaults.host()),
                section.read(Listener.PORT, defaults.port()),
                section.read(advertise.optional(), defaults.advertise()),
                section.read(Listener.HEALTH_PORT, defaults.healthPort()));
    }

    private static List<String> gateways(YamlTree list, List<String> otherwise) {
        if (!list.isPresent()) {
            return otherwise;
        }
        List<String> gateways = list.items().stream()
                .map(item -> Service.GATEWAY.read(item, null))
                .filter(Objects::nonNull)
                .toList();
        if (gateways.size() > Service.MAX_GATEWAYS) {
            list.fault("must have at most " + Service.MAX_GATEWAYS + " items, has " + gateways.size());
            return otherwise;
        }
        return gateways;
    }

    private static Optional<Tls> tls(YamlTree mapping, Optional<Tls> otherwise) {
        if (!mapping.isPresent()) {
            return otherwise;
        }
        mapping.fields(List.of("certificate", "key", "ca"));
        Path certificate = Tls.CERTIFICATE.read(mapping.require("certificate"), null);
        Path key = Tls.KEY.read(mapping.require("key"), null);
        Optional<Path> ca = Tls.CA.optional().read(mapping.get("ca"), Optional.empty());
        return certificate == null || key == null ? otherwise : Optional.of(new Tls(certificate, key, ca));
    }
}
