package dev.weir.config;

import dev.weir.definition.YamlTree;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.BiFunction;

/** Reads the keys of one mapping of the configuration file. A mapping that is missing or empty has no keys. */
final class Section {

    private final YamlTree mapping;
    private final Set<String> known = new LinkedHashSet<>();

    Section(YamlTree mapping) {
        this.mapping = mapping;
    }

    /** The value in the file; {@code otherwise} if there is none, or if it is at fault, which is noted. */
    <T> T read(Setting<T> setting, T otherwise) {
        String fullKey = setting.key();
        return setting.read(get(fullKey.substring(fullKey.lastIndexOf('.') + 1)), otherwise);
    }

    /** The value of a key. */
    YamlTree get(String key) {
        known.add(key);
        return mapping.get(key);
    }

    /** What a mapping in this one is read as. */
    <T> T section(String key, BiFunction<Section, T, T> reading, T defaults) {
        Section section = new Section(get(key));
        T read = reading.apply(section, defaults);
        section.refuseOtherKeys();
        return read;
    }

    /** Notes each key that was not read, and a section that is no mapping. */
    void refuseOtherKeys() {
        if (!mapping.isEmpty()) {
            mapping.fields(known);
        }
    }
}
