package dev.weir.bench.measure;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Runs candidates in turns, so that other load on the machine affects all of them. */
public final class Rounds {

    /** A candidate that is compared with others. */
    public record Participant(String name, Measurement measurement) {}

    /** One measurement of a candidate. */
    public interface Measurement {
        /** Measures the candidate. Returns the records or decisions per second. */
        double perSecond() throws Exception;
    }

    private Rounds() {}

    /**
     * Measures each candidate once in each round; every second round is in reverse order.
     *
     * @param progress receives a line for each measurement
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
