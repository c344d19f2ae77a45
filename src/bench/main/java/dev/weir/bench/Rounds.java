package dev.weir.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Lets candidates work in turns, so that whatever else the machine does meets all of them. */
public final class Rounds {

    /** One that is measured against others. */
    public record Participant(String name, Measurement measurement) {}

    /** What a candidate does when it has its turn. */
    public interface Measurement {
        double perSecond() throws Exception;
    }

    private Rounds() {}

    /**
     * Measures each candidate in each round.
     *
     * @param progress is told what was measured
     */
    public static List<CandidateSeries> run(List<Participant> candidates, int rounds, Consumer<String> progress)
            throws Exception {
        List<List<Double>> values = new ArrayList<>();
        candidates.forEach(candidate -> values.add(new ArrayList<>()));
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < candidates.size(); i++) {
                int turn = round % 2 == 0 ? i : candidates.size() - 1 - i;
                Participant candidate = candidates.get(turn);
                double perSecond = candidate.measurement.perSecond();
                values.get(turn).add(perSecond);
                progress.accept("%s: %,.0f/s".formatted(candidate.name, perSecond));
            }
        }
        List<CandidateSeries> series = new ArrayList<>();
        for (int i = 0; i < candidates.size(); i++) {
            series.add(new CandidateSeries(candidates.get(i).name, values.get(i)));
        }
        return series;
    }
}
