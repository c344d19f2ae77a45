package dev.weir.config;

import dev.weir.config.WeirConfig.Commits;
import dev.weir.config.WeirConfig.Leases;
import dev.weir.config.WeirConfig.Requests;
import dev.weir.config.WeirConfig.Service;
import dev.weir.config.WeirConfig.Shaping;
import dev.weir.config.WeirConfig.State;
import dev.weir.config.WeirConfig.Takeover;
import dev.weir.config.WeirConfig.Topics;
import dev.weir.definition.YamlTree;
import dev.weir.fault.Faults;
import dev.weir.fault.FaultsException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the configuration file, which is YAML or JSON. All keys are optional. */
public final class ConfigFile {

    /** The environment variable with the default of {@code state.directory}. */
    public static final String STATE_DIRECTORY_VARIABLE = "WEIR_STATE_DIRECTORY";

    /** The section for the gateway, which {@link #read(Path, Object, BiFunction)} reads and other methods ignore. */
    public static final String GATEWAY = "gateway";

    private static final int MAX_KAFKA_PROPERTIES = 1000;
    private static final Pattern REFERENCE = Pattern.compile("\\$\\{env:([^{}]*)}");

    private ConfigFile() {}

    /**
     * Like {@link #read(String, String)}, from a file.
     *
     * @throws IOException if the file cannot be read
     * @throws FaultsException with all faults
     */
    public static WeirConfig read(Path file) throws IOException, FaultsException {
        Faults faults = new Faults(file.toString());
        return read(YamlTree.read(file, faults), faults, System.getenv());
    }

    /**
     * Returns the configuration of a file. References {@code ${env:NAME}} in the values of Kafka's and the registry's
     * properties, and in {@code service.advertise}, are replaced by environment variables.
     *
     * @param fileName the name of the file, for faults
     * @param text the contents of the file
     * @throws FaultsException with all faults
     */
    public static WeirConfig read(String fileName, String text) throws FaultsException {
        return read(fileName, text, System.getenv());
    }

    /** Like {@link #read(String, String)}, with the given environment variables instead of those of the process. */
    public static WeirConfig read(String fileName, String text, Map<String, String> environment)
            throws FaultsException {
        Faults faults = new Faults(fileName);
        return read(YamlTree.read(text, faults), faults, environment);
    }

    /**
     * The configuration of a file and its section for the gateway.
     *
     * @param <T> the type of the section
     */
    public record WithGateway<T>(WeirConfig weir, T gateway) {}

    /**
     * Like {@link #read(Path)}, and also reads the section for the gateway.
     *
     * @param <T> the type of the section
     * @param defaults the section if the file has none
     * @param reading reads the section; a value with a fault has its default
     * @throws IOException if the file cannot be read
     * @throws FaultsException with all faults
     */
    public static <T> WithGateway<T> read(Path file, T defaults, BiFunction<ConfigSection, T, T> reading)
            throws IOException, FaultsException {
        Faults faults = new Faults(file.toString());
        return read(YamlTree.read(file, faults), faults, defaults, reading);
    }

    /** Like {@link #read(Path, Object, BiFunction)}, from a text. */
    public static <T> WithGateway<T> read(
            String fileName, String text, T defaults, BiFunction<ConfigSection, T, T> reading) throws FaultsException {
        Faults faults = new Faults(fileName);
        return read(YamlTree.read(text, faults), faults, defaults, reading);
    }

    private static <T> WithGateway<T> read(
            YamlTree file, Faults faults, T defaults, BiFunction<ConfigSection, T, T> reading) throws FaultsException {
        WeirConfig config = parse(file, System.getenv());
        T gateway = new ConfigSection(file).section(GATEWAY, reading, defaults);
        faults.throwIfAny();
        return new WithGateway<>(config, gateway);
    }

    /** Returns the configuration without a file. */
    public static WeirConfig defaults(Map<String, String> environment) {
        String directory = environment.getOrDefault(STATE_DIRECTORY_VARIABLE, "");
        return directory.isBlank() ? WeirConfig.DEFAULTS : WeirConfig.DEFAULTS.withStateDirectory(Path.of(directory));
    }

    private static WeirConfig read(YamlTree file, Faults faults, Map<String, String> environment)
            throws FaultsException {
        WeirConfig config = parse(file, environment);
        faults.throwIfAny();
        return config;
    }

    private static WeirConfig parse(YamlTree file, Map<String, String> environment) {
        ConfigSection top = new ConfigSection(file);
        WeirConfig defaults = defaults(environment);
        String applicationId = top.read(WeirConfig.APPLICATION_ID, defaults.applicationId());
        int threads = top.read(WeirConfig.THREADS, defaults.threads());
        Topics topics = top.section("topics", SettingsReader::topics, defaults.topics());
        State state = top.section("state", SettingsReader::state, defaults.state());
        Requests requests = top.section("requests", SettingsReader::requests, defaults.requests());
        Shaping shaping = top.section("shaping", SettingsReader::shaping, defaults.shaping());
        Commits commits = top.section("commit", SettingsReader::commits, defaults.commits());
        Leases leases = top.section("leases", SettingsReader::leases, defaults.leases());
        Takeover takeover = top.section("takeover", SettingsReader::takeover, defaults.takeover());
        Service service = top.section(
                "service",
                (section, otherwise) -> SettingsReader.service(section, otherwise, text -> resolve(text, environment)),
                defaults.service());
        Map<String, String> registry = registry(top.get("registry"), environment);
        Map<String, String> kafka = kafka(top.get("kafka"), environment);
        var unused = top.get(GATEWAY);
        top.rejectUnknownKeys();
        // Each value is valid by itself, but the prefix and the application id can be too long together.
        YamlTree prefix = file.get("topics").get("prefix");
        return prefix.noting(() -> new WeirConfig(
                applicationId,
                threads,
                topics,
                state,
                requests,
                shaping,
                commits,
                leases,
                takeover,
                service,
                registry,
                kafka));
    }

    /** Returns the properties, empty if one of them has a fault. */
    private static Map<String, String> registry(YamlTree registry, Map<String, String> environment) {
        Map<String, String> properties = new HashMap<>();
        if (registry.isEmpty()) {
            return properties;
        }
        registry.fields(RegistryPropertyRules.keys()).forEach((key, value) -> {
            if (RegistryPropertyRules.keys().contains(key)) {
                properties.put(
                        key,
                        value.read(text -> requireValid(
                                resolve(text, environment), of -> RegistryPropertyRules.violation(key, of))));
            }
        });
        if (properties.containsValue(null)) {
            return Map.of();
        }
        Optional<RegistryPropertyRules.Conflict> conflict = RegistryPropertyRules.conflict(properties);
        conflict.ifPresent(found -> registry.get(found.key()).fault(found.fault()));
        return conflict.isEmpty() ? properties : Map.of();
    }

    /** Returns the properties without faults. */
    private static Map<String, String> kafka(YamlTree kafka, Map<String, String> environment) {
        Map<String, YamlTree> values = kafka.isEmpty() ? Map.of() : kafka.fields();
        if (values.size() > MAX_KAFKA_PROPERTIES) {
            kafka.fault("must have at most " + MAX_KAFKA_PROPERTIES + " properties, has " + values.size());
            return Map.of();
        }
        Map<String, String> properties = new HashMap<>();
        values.forEach((key, value) -> {
            String property = value.read(
                    text -> requireValid(resolve(text, environment), of -> KafkaPropertyRules.violation(key, of)));
            if (property != null) {
                properties.put(key, property);
            }
        });
        return properties;
    }

    private static String requireValid(String value, Function<String, Optional<String>> rules) {
        rules.apply(value).ifPresent(fault -> {
            throw new IllegalArgumentException(fault);
        });
        return value;
    }

    private static String resolve(String text, Map<String, String> environment) {
        return REFERENCE.matcher(text).replaceAll(reference -> {
            String value = environment.get(reference.group(1));
            if (value == null) {
                throw new IllegalArgumentException(
                        "needs the environment variable " + reference.group(1) + ", which is not set");
            }
            return Matcher.quoteReplacement(value);
        });
    }
}
