package dev.weir.config;

import dev.weir.definition.YamlTree;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.BiFunction;

/** A reader of one mapping of the configuration file. A missing or empty mapping has no keys. */
public final class ConfigSection {

    private final YamlTree mapping;
    private final Set<String> readKeys = new LinkedHashSet<>();

    ConfigSection(YamlTree mapping) {
        this.mapping = mapping;
    }

    /** Returns the value in the file, or {@code otherwise} if it is missing or has a fault. Faults are recorded. */
    public <T> T read(Setting<T> setting, T otherwise) {
        String fullKey = setting.key();
        return setting.read(get(fullKey.substring(fullKey.lastIndexOf('.') + 1)), otherwise);
    }

    /** Returns the value of a key. */
    public YamlTree get(String key) {
        readKeys.add(key);
        return mapping.get(key);
    }

    /** Reads a nested mapping and records its unknown keys. */
    public <T> T section(String key, BiFunction<ConfigSection, T, T> reading, T defaults) {
        ConfigSection section = new ConfigSection(get(key));
        T read = reading.apply(section, defaults);
        section.rejectUnknownKeys();
        return read;
    }

    /** Records a fault for each key that was not read, and one if the section is not a mapping. */
    void rejectUnknownKeys() {
        if (!mapping.isEmpty()) {
            mapping.fields(readKeys);
        }
    }
}
