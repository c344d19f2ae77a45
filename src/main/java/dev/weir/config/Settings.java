package dev.weir.config;

import dev.weir.codec.YamlTree;
import dev.weir.config.WeirConfig.Leases;
import dev.weir.config.WeirConfig.Misplaced;
import dev.weir.config.WeirConfig.Requests;
import dev.weir.config.WeirConfig.Service;
import dev.weir.config.WeirConfig.Shaping;
import dev.weir.config.WeirConfig.State;
import dev.weir.config.WeirConfig.Topics;
import dev.weir.policy.Quantities;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;

/** The settings of the configuration file by their full keys, each set on its own, so that each fault is found. */
final class Settings {

    private static final String DEFAULT = "default";

    /** Gives the configuration with one setting changed to a value, null if the value is at fault. */
    private interface Setting {
        WeirConfig set(WeirConfig config, YamlTree value);
    }

    private static final Map<String, Setting> ALL = new LinkedHashMap<>();

    static {
        text(
                "application-id",
                (c, id) -> new WeirConfig(
                        id,
                        c.threads(),
                        c.topics(),
                        c.state(),
                        c.requests(),
                        c.shaping(),
                        c.leases(),
                        c.service(),
                        c.registry(),
                        c.kafka()));
        number(
                "threads",
                1,
                WeirConfig.MAX_THREADS,
                (c, n) -> new WeirConfig(
                        c.applicationId(),
                        n.intValue(),
                        c.topics(),
                        c.state(),
                        c.requests(),
                        c.shaping(),
                        c.leases(),
                        c.service(),
                        c.registry(),
                        c.kafka()));

        text("topics.prefix", (c, prefix) -> {
            Topics t = c.topics();
            return with(c, new Topics(prefix, t.partitions(), t.replicationFactor()));
        });
        number("topics.partitions", 1, Topics.MAX_PARTITIONS, (c, n) -> {
            Topics t = c.topics();
            return with(c, new Topics(t.prefix(), n.intValue(), t.replicationFactor()));
        });
        text("topics.replication-factor", (c, factor) -> {
            Topics t = c.topics();
            return with(c, new Topics(t.prefix(), t.partitions(), replicationFactor(factor)));
        });

        text("state.directory", (c, directory) -> c.withStateDirectory(directory(directory)));
        text("state.memory", (c, size) -> {
            State s = c.state();
            long bytes = Quantities.sizeBytes(size);
            return with(
                    c,
                    new State(
                            s.directory(),
                            bytes,
                            s.hotMemoryBytes(),
                            s.sweepEvery(),
                            s.sweepKeys(),
                            s.forgetAfter(),
                            s.maxRemembered()));
        });
        text("state.hot-memory", (c, size) -> {
            State s = c.state();
            long bytes = hotMemory(size);
            return with(
                    c,
                    new State(
                            s.directory(),
                            s.memoryBytes(),
                            bytes,
                            s.sweepEvery(),
                            s.sweepKeys(),
                            s.forgetAfter(),
                            s.maxRemembered()));
        });
        text("state.sweep-every", (c, duration) -> {
            State s = c.state();
            Duration every = duration(duration);
            return with(
                    c,
                    new State(
                            s.directory(),
                            s.memoryBytes(),
                            s.hotMemoryBytes(),
                            every,
                            s.sweepKeys(),
                            s.forgetAfter(),
                            s.maxRemembered()));
        });
        number("state.sweep-keys", 1, State.MAX_SWEEP_KEYS, (c, n) -> {
            State s = c.state();
            int keys = n.intValue();
            return with(
                    c,
                    new State(
                            s.directory(),
                            s.memoryBytes(),
                            s.hotMemoryBytes(),
                            s.sweepEvery(),
                            keys,
                            s.forgetAfter(),
                            s.maxRemembered()));
        });
        text("state.forget-after", (c, duration) -> {
            State s = c.state();
            Duration after = duration(duration);
            return with(
                    c,
                    new State(
                            s.directory(),
                            s.memoryBytes(),
                            s.hotMemoryBytes(),
                            s.sweepEvery(),
                            s.sweepKeys(),
                            after,
                            s.maxRemembered()));
        });
        number("state.max-remembered", 1, State.MAX_REMEMBERED, (c, n) -> {
            State s = c.state();
            int most = n.intValue();
            return with(
                    c,
                    new State(
                            s.directory(),
                            s.memoryBytes(),
                            s.hotMemoryBytes(),
                            s.sweepEvery(),
                            s.sweepKeys(),
                            s.forgetAfter(),
                            most));
        });

        text("requests.max-payload", (c, size) -> {
            Requests r = c.requests();
            long bytes = Quantities.sizeBytes(size);
            return with(
                    c,
                    new Requests(
                            bytes,
                            r.maxAttributes(),
                            r.maxAttributeLength(),
                            r.maxCost(),
                            r.misplaced(),
                            r.maxAhead()));
        });
        number("requests.max-attributes", 0, Requests.MAX_ATTRIBUTES, (c, n) -> {
            Requests r = c.requests();
            return with(
                    c,
                    new Requests(
                            r.maxPayloadBytes(),
                            n.intValue(),
                            r.maxAttributeLength(),
                            r.maxCost(),
                            r.misplaced(),
                            r.maxAhead()));
        });
        number("requests.max-attribute-length", 1, Requests.MAX_ATTRIBUTE_LENGTH, (c, n) -> {
            Requests r = c.requests();
            return with(
                    c,
                    new Requests(
                            r.maxPayloadBytes(),
                            r.maxAttributes(),
                            n.intValue(),
                            r.maxCost(),
                            r.misplaced(),
                            r.maxAhead()));
        });
        number("requests.max-cost", 1, Requests.MAX_COST, (c, n) -> {
            Requests r = c.requests();
            return with(
                    c,
                    new Requests(
                            r.maxPayloadBytes(),
                            r.maxAttributes(),
                            r.maxAttributeLength(),
                            n,
                            r.misplaced(),
                            r.maxAhead()));
        });
        text("requests.max-ahead", (c, duration) -> {
            Requests r = c.requests();
            Duration most = duration(duration);
            return with(
                    c,
                    new Requests(
                            r.maxPayloadBytes(),
                            r.maxAttributes(),
                            r.maxAttributeLength(),
                            r.maxCost(),
                            r.misplaced(),
                            most));
        });
        text("requests.misplaced", (c, text) -> {
            Requests r = c.requests();
            Misplaced misplaced = Misplaced.of(text);
            return with(
                    c,
                    new Requests(
                            r.maxPayloadBytes(),
                            r.maxAttributes(),
                            r.maxAttributeLength(),
                            r.maxCost(),
                            misplaced,
                            r.maxAhead()));
        });

        number(
                "shaping.threads",
                1,
                WeirConfig.MAX_THREADS,
                (c, n) -> with(
                        c,
                        new Shaping(
                                n.intValue(),
                                c.shaping().commitEvery(),
                                c.shaping().hotKeys())));
        text(
                "shaping.commit-every",
                (c, duration) -> with(
                        c,
                        new Shaping(
                                c.shaping().threads(),
                                duration(duration),
                                c.shaping().hotKeys())));
        number(
                "shaping.hot-keys",
                1,
                WeirConfig.MAX_HOT_KEYS,
                (c, n) -> with(c, new Shaping(c.shaping().threads(), c.shaping().commitEvery(), n.intValue())));

        text(
                "leases.term",
                (c, duration) ->
                        with(c, new Leases(duration(duration), c.leases().lead())));
        text("leases.lead", (c, duration) -> with(c, new Leases(c.leases().term(), duration(duration))));

        ALL.put("service.enabled", (c, value) -> {
            Boolean enabled = value.flag();
            return enabled == null ? null : c.withService(c.service().withEnabled(enabled));
        });
        text("service.host", (c, host) -> c.withService(c.service().withHost(host)));
        number(
                "service.port",
                0,
                Service.MAX_PORT,
                (c, n) -> c.withService(c.service().withPort(n.intValue())));
        number(
                "service.health-port",
                0,
                Service.MAX_PORT,
                (c, n) -> c.withService(c.service().withHealthPort(n.intValue())));
        text("service.advertise", (c, address) -> c.withService(c.service().withAdvertise(address)));
        text("service.token-file", (c, file) -> c.withService(c.service().withTokenFile(file(file))));
        text("service.read-token", (c, text) -> c.withService(c.service().withReadToken(Service.ReadToken.of(text))));
        text("service.request-timeout", (c, text) -> c.withService(c.service().withRequestTimeout(duration(text))));
        ALL.put("service.tls", (c, value) -> {
            Service.Tls tls = tls(value);
            return tls == null ? null : c.withService(c.service().withTls(tls));
        });
        text("service.backtest-timeout", (c, text) -> c.withService(c.service().withBacktestTimeout(duration(text))));
    }

    private Settings() {}

    /** The keys of a section, such as {@code topics}; for the empty section, those without one, and the sections. */
    static Set<String> keys(String section) {
        String start = section.isEmpty() ? "" : section + ".";
        Set<String> keys = new LinkedHashSet<>();
        for (String key : ALL.keySet()) {
            if (key.startsWith(start)) {
                keys.add(key.substring(start.length()).split("\\.", 2)[0]);
            }
        }
        return keys;
    }

    /** The configuration with one setting changed to a value; as it was if the value is missing or at fault. */
    static WeirConfig set(WeirConfig config, YamlTree value) {
        WeirConfig changed = value.isThere() ? ALL.get(value.path()).set(config, value) : null;
        return changed == null ? config : changed;
    }

    private static void text(String key, BiFunction<WeirConfig, String, WeirConfig> change) {
        ALL.put(key, (config, value) -> value.read(text -> change.apply(config, text)));
    }

    private static void number(String key, long min, long max, BiFunction<WeirConfig, Long, WeirConfig> change) {
        ALL.put(key, (config, value) -> {
            Long number = value.wholeNumber(min, max);
            return number == null ? null : change.apply(config, number);
        });
    }

    private static WeirConfig with(WeirConfig c, Topics topics) {
        return new WeirConfig(
                c.applicationId(),
                c.threads(),
                topics,
                c.state(),
                c.requests(),
                c.shaping(),
                c.leases(),
                c.service(),
                c.registry(),
                c.kafka());
    }

    private static WeirConfig with(WeirConfig c, State state) {
        return new WeirConfig(
                c.applicationId(),
                c.threads(),
                c.topics(),
                state,
                c.requests(),
                c.shaping(),
                c.leases(),
                c.service(),
                c.registry(),
                c.kafka());
    }

    private static WeirConfig with(WeirConfig c, Requests requests) {
        return new WeirConfig(
                c.applicationId(),
                c.threads(),
                c.topics(),
                c.state(),
                requests,
                c.shaping(),
                c.leases(),
                c.service(),
                c.registry(),
                c.kafka());
    }

    private static WeirConfig with(WeirConfig c, Shaping shaping) {
        return new WeirConfig(
                c.applicationId(),
                c.threads(),
                c.topics(),
                c.state(),
                c.requests(),
                shaping,
                c.leases(),
                c.service(),
                c.registry(),
                c.kafka());
    }

    private static WeirConfig with(WeirConfig c, Leases leases) {
        return new WeirConfig(
                c.applicationId(),
                c.threads(),
                c.topics(),
                c.state(),
                c.requests(),
                c.shaping(),
                leases,
                c.service(),
                c.registry(),
                c.kafka());
    }

    private static Optional<Integer> replicationFactor(String text) {
        if (text.equals(DEFAULT)) {
            return Optional.empty();
        }
        if (!text.matches("[0-9]{1,9}")) {
            throw new IllegalArgumentException(
                    "must be default or 1 to " + Topics.MAX_REPLICATION_FACTOR + ", is '" + text + "'");
        }
        return Optional.of(Integer.valueOf(text));
    }

    private static long hotMemory(String text) {
        return switch (text.strip()) {
            case DEFAULT -> State.DEFAULTS.hotMemoryBytes();
            case "0" -> 0;
            default -> Quantities.sizeBytes(text);
        };
    }

    private static Path directory(String text) {
        if (text.isBlank()) {
            throw new IllegalArgumentException("must be a directory, is '" + text + "'");
        }
        return Path.of(text);
    }

    private static Path file(String text) {
        if (text.isBlank()) {
            throw new IllegalArgumentException("must be a file, is '" + text + "'");
        }
        return Path.of(text);
    }

    /** Null if the value is at fault. */
    private static Service.Tls tls(YamlTree value) {
        value.fields(List.of("certificate", "key", "ca"));
        Path certificate = value.require("certificate").read(Settings::file);
        Path key = value.require("key").read(Settings::file);
        Optional<Path> ca = value.get("ca").isThere()
                ? Optional.ofNullable(value.get("ca").read(Settings::file))
                : Optional.empty();
        return certificate == null || key == null ? null : new Service.Tls(certificate, key, ca);
    }

    private static Duration duration(String text) {
        return Duration.ofMillis(Quantities.durationMs(text));
    }
}
