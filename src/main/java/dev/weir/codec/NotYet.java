package dev.weir.codec;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What the policy file is going to have: refused by name until then. */
final class NotYet {

    private NotYet() {}

    /**
     * Notes each key of a mapping that is not known, or not yet.
     *
     * @param notYet keys, and what they are for
     */
    static void requireKnown(YamlTree mapping, List<String> known, Map<String, String> notYet) {
        List<String> all = new ArrayList<>(known);
        notYet.keySet().stream().sorted().forEach(all::add);
        mapping.fields(all).forEach((key, value) -> {
            if (notYet.containsKey(key)) {
                fault(value, notYet.get(key));
            }
        });
    }

    static void fault(YamlTree value, String what) {
        value.fault(what + " is not available in this version");
    }
}
