package dev.weir.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;

/** Decisions a second, against a topology that only passes requests through. */
public final class DecideBench {

    /**
     * What is decided.
     *
     * @param policies a policy file; each decision charges, since that costs most
     * @param clients of whom the k-th asks in proportion to 1/k
     * @param known whether all of them have asked before
     */
    public record Load(String name, String policies, long clients, boolean known) {}

    private static final List<String> JVM = List.of("-Xmx1g");

    /** What each candidate is given beyond {@code weir run}'s defaults. */
    private final Map<String, String> kafka;

    private final Effort effort;
    private final Consumer<String> progress;
    private final Slices slices;

    public DecideBench(Effort effort, Map<String, String> kafka, Consumer<String> progress) {
        this.effort = effort;
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
        this.slices = new Slices(effort, progress);
    }

    public Table run(Load load) throws Exception {
        try (Rig rig = new Rig();
                Rig.Workload workload = rig.workload(load.policies, kafka)) {
            rig.createPassed(workload.config());
            try (Lane pass = new Lane("pass-through", Lane.Kind.PASS, workload.config("pass"), JVM);
                    Lane decide = new Lane(load.name, Lane.Kind.DECIDE, workload.config("decide"), JVM)) {
                List<Lane> lanes = List.of(pass, decide);
                if (load.known) {
                    progress.accept("%s: %,d clients ask once each".formatted(load.name, load.clients));
                    workload.reach(load.clients, List.of(number -> number, number -> number));
                }
                List<LongUnaryOperator> clients = List.of(zipf(load.clients, 1), zipf(load.clients, 2));
                long known = workload.sent();
                workload.reach(known + effort.warmUp() * 3 / 2, clients);
                for (Lane lane : lanes) {
                    slices.warmUp(lane, known + effort.warmUp());
                }
                List<Series> series = slices.measure(lanes, requests -> workload.reach(requests, clients));
                List<String> notes = new ArrayList<>();
                notes.add("%,d clients, Zipf; resident at the end: %,d MiB, %,d MiB"
                        .formatted(load.clients, pass.residentBytes() >> 20, decide.residentBytes() >> 20));
                notes.add("a request has %d bytes, a decision %d"
                        .formatted(workload.requestBytes(), workload.decisionBytes()));
                return Table.of(load.name, "requests/s", series, notes);
            }
        }
    }

    private static LongUnaryOperator zipf(long clients, long seed) {
        Zipf zipf = new Zipf(clients, seed);
        return number -> zipf.next();
    }
}
