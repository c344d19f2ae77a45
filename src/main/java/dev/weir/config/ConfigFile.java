package dev.weir.config;

import dev.weir.codec.Faults;
import dev.weir.codec.FaultsException;
import dev.weir.codec.YamlTree;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the configuration file: YAML or JSON, every key optional. */
public final class ConfigFile {

    /** The environment variable of the state directory; {@code state.directory} overrides it. */
    public static final String STATE_DIRECTORY = "WEIR_STATE_DIRECTORY";

    private static final int MAX_KAFKA_PROPERTIES = 1000;
    private static final String KAFKA = "kafka";
    private static final String REGISTRY = "registry";
    private static final Pattern REFERENCE = Pattern.compile("\\$\\{env:([^{}]*)}");

    private ConfigFile() {}

    /**
     * As {@link #read(String, String)}, from a file.
     *
     * @throws IOException if the file cannot be read
     */
    public static WeirConfig read(Path file) throws IOException, FaultsException {
        Faults faults = new Faults(file.toString());
        return read(YamlTree.read(file, faults), faults, System.getenv());
    }

    /**
     * The configuration of a file; {@code ${env:NAME}} in the values of Kafka's and the registry's properties is replaced
     * by the environment variable.
     *
     * @param fileName for the faults
     * @throws FaultsException with everything that is wrong
     */
    public static WeirConfig read(String fileName, String text) throws FaultsException {
        return read(fileName, text, System.getenv());
    }

    /** As {@link #read(String, String)}, with other environment variables than those of the process. */
    public static WeirConfig read(String fileName, String text, Map<String, String> environment)
            throws FaultsException {
        Faults faults = new Faults(fileName);
        return read(YamlTree.read(text, faults), faults, environment);
    }

    /** The configuration without a file. */
    public static WeirConfig defaults(Map<String, String> environment) {
        String directory = environment.getOrDefault(STATE_DIRECTORY, "");
        return directory.isBlank() ? WeirConfig.DEFAULTS : WeirConfig.DEFAULTS.withStateDirectory(Path.of(directory));
    }

    private static WeirConfig read(YamlTree file, Faults faults, Map<String, String> environment)
            throws FaultsException {
        WeirConfig config = file.isEmpty() ? defaults(environment) : set(file, environment);
        faults.throwIfAny();
        return config;
    }

    private static WeirConfig set(YamlTree file, Map<String, String> environment) {
        Set<String> keys = Settings.keys("");
        keys.add(REGISTRY);
        keys.add(KAFKA);
        file.fields(keys);
        WeirConfig config = defaults(environment);
        for (String key : Settings.keys("")) {
            Set<String> ofSection = Settings.keys(key);
            YamlTree value = file.get(key);
            if (ofSection.isEmpty()) {
                config = Settings.set(config, value);
            } else if (!value.isEmpty()) {
                value.fields(ofSection);
                for (String keyOfSection : ofSection) {
                    config = Settings.set(config, value.get(keyOfSection));
                }
            }
        }
        config = setRegistry(config, file.get(REGISTRY), environment);
        return setKafka(config, file.get(KAFKA), environment);
    }

    private static WeirConfig setRegistry(WeirConfig config, YamlTree registry, Map<String, String> environment) {
        if (registry.isEmpty()) {
            return config;
        }
        Map<String, String> properties = new HashMap<>();
        registry.fields(RegistryRules.keys()).forEach((key, value) -> {
            if (RegistryRules.keys().contains(key)) {
                properties.put(key, value.read(text -> property(key, resolve(text, environment))));
            }
        });
        if (!properties.isEmpty()) {
            registry.require(RegistryRules.URL);
        }
        boolean isWhole = properties.containsKey(RegistryRules.URL) && !properties.containsValue(null);
        return isWhole ? config.withRegistry(properties) : config;
    }

    private static String property(String key, String value) {
        RegistryRules.fault(key, value).ifPresent(fault -> {
            throw new IllegalArgumentException(fault);
        });
        return value;
    }

    private static WeirConfig setKafka(WeirConfig config, YamlTree kafka, Map<String, String> environment) {
        Map<String, YamlTree> properties = kafka.isEmpty() ? Map.of() : kafka.fields();
        if (properties.size() > MAX_KAFKA_PROPERTIES) {
            kafka.fault("must be at most " + MAX_KAFKA_PROPERTIES + " properties, are " + properties.size());
            return config;
        }
        WeirConfig changed = config;
        for (Map.Entry<String, YamlTree> property : properties.entrySet()) {
            WeirConfig before = changed;
            WeirConfig after =
                    property.getValue().read(text -> before.withKafka(property.getKey(), resolve(text, environment)));
            changed = after == null ? before : after;
        }
        return changed;
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
