package dev.weir.rules;

import java.util.Map;

/** The versions that policies and queues had. */
interface PastVersions {

    /** Returns the last version that each policy or queue ever had, by key. */
    Map<String, Long> last();

    /**
     * Returns the policies and queues that had a definition, and the last version with it.
     *
     * @param definitions one definition as JSON of each policy or queue, by key
     */
    default Map<String, Long> containing(Map<String, String> definitions) {
        return Map.of();
    }
}
