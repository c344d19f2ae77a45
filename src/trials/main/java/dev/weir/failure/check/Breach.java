package dev.weir.failure.check;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The result of checking one invariant.
 *
 * @param counts how many of each were checked, in the order of the output
 * @param faults the first {@value #MAX_FAULTS} faults
 * @param faultCount the number of all faults
 */
public record Breach(String name, Map<String, Long> counts, List<String> faults, long faultCount) {

    static final int MAX_FAULTS = 10;

    public boolean isOk() {
        return faultCount == 0;
    }

    /** Returns a line with the counts, and one for each of {@link #faults}. */
    @Override
    public String toString() {
        String line = name + ": "
                + counts.entrySet().stream()
                        .map(count -> String.format(Locale.ROOT, "%,d %s", count.getValue(), count.getKey()))
                        .collect(Collectors.joining(", "))
                + (isOk() ? ": ok" : String.format(Locale.ROOT, ": %,d FAULTS", faultCount));
        return faults.isEmpty() ? line : line + "\n    " + String.join("\n    ", faults);
    }

    /** The counts and faults of an invariant while it is checked. */
    static final class Notes {
        private final String name;
        private final Map<String, Long> counts = new LinkedHashMap<>();
        private final List<String> faults = new ArrayList<>();
        private long faultCount;

        /** @param counted the counts that are printed even if they are 0 */
        Notes(String name, String... counted) {
            this.name = name;
            for (String what : counted) {
                counts.put(what, 0L);
            }
        }

        void count(String what) {
            count(what, 1);
        }

        void count(String what, long many) {
            counts.merge(what, many, Long::sum);
        }

        void fault(String fault) {
            fault(() -> fault);
        }

        /** Counts a fault, and describes it only if it is one of the first. */
        void fault(Supplier<String> description) {
            faultCount++;
            if (faults.size() < MAX_FAULTS) {
                faults.add(description.get());
            }
        }

        Breach done() {
            return new Breach(name, counts, List.copyOf(faults), faultCount);
        }
    }
}
