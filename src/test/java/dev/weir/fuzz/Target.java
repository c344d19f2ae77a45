package dev.weir.fuzz;

import java.io.IOException;

/** What there is to try, by name. */
final class Target {

    private Target() {}

    static Fuzz.Case of(String name) throws IOException {
        return switch (name) {
            case "records" -> new RecordFuzz();
            case "lines" -> new RequestLineFuzz();
            case "topology" -> new TopologyFuzz();
            case "policies" -> new PolicyFileFuzz(Seeds.policyFiles());
            case "config" -> new ConfigFileFuzz(Seeds.configFiles());
            default -> throw new IllegalArgumentException("records, lines, topology, policies or config");
        };
    }
}
