package dev.weir.config;

import dev.weir.definition.YamlTree;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.BiFunction;

/** Reads the keys of one mapping of the configuration file. A mapping that is missing or empty has no keys. */
final class ConfigSection {

    private final YamlTree mapping;
    private final Set<String> readKeys = new LinkedHashSet<>();

    ConfigSection(YamlTree mapping) {
        this.mapping = mapping;
    }

    /** The value in the file; {@code otherwise} if there is none, or if it is at fault, which is noted. */
    <T> T read(Setting<T> setting, T otherwise) {
        String fullKey = setting.key();
        return setting.read(get(fullKey.substring(fullKey.lastIndexOf('.') + 1)), otherwise);
    }

    /** The value of a key. */
    YamlTree get(String key) {
        readKeys.add(key);
        return mapping.get(key);
    }

    /** What a mapping in this one is read as. */
    <T> T section(String key, BiFunction<ConfigSection, T, T> reading, T defaults) {
        ConfigSection section = new ConfigSection(get(key));
        T read = reading.apply(section, defaults);
        section.rejectUnknownKeys();
        return read;
    }

    /** Notes each key that was not read, and a section that is no mapping. */
    void rejectUnknownKeys() {
        if (!mapping.isEmpty()) {
            mapping.fields(readKeys);
        }
    }
}
