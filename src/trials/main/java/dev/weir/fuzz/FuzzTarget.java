package dev.weir.fuzz;

import java.io.IOException;

/** The fuzz targets, by name. */
final class FuzzTarget {

    /** The records in one case of the topologies, whose setup takes as long as a thousand records. */
    private static final int RECORDS = 10_000;

    private FuzzTarget() {}

    static FuzzRunner.Case of(String name) throws IOException {
        return switch (name) {
            case "records" -> new RecordFuzz();
            case "lines" -> new RequestLineFuzz();
            case "topology" -> new TopologyFuzz(RECORDS);
            case "policies" -> new PolicyFileFuzz(DocumentSeeds.policyFiles());
            case "http" -> new HttpFuzz();
            case "config" -> new ConfigFileFuzz(DocumentSeeds.configFiles());
            default -> throw new IllegalArgumentException("use records, lines, topology, policies, config or http");
        };
    }
}
