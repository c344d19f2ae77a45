package dev.weir.bench.measure;

import java.util.List;
import java.util.function.ToLongFunction;
import org.HdrHistogram.Histogram;

/**
 * The latencies of one candidate.
 *
 * @param rounds the latencies of each round, in nanoseconds
 */
public record Latencies(String name, List<Histogram> rounds) {

    public static final List<String> COLUMNS = List.of("p50 ms", "p99 ms", "p99.9 ms", "max ms", "p99 ratio");

    private static final double NANOS_PER_MS = 1e6;

    public Latencies {
        rounds = List.copyOf(rounds);
    }

    /** Returns the median percentiles of the rounds, the maximum of all rounds, and the median ratio of the p99. */
    public ResultTable.Row row(Latencies against) {
        return ResultTable.Row.of(
                name,
                percentile(50).median(),
                percentile(99).median(),
                percentile(99.9).median(),
                millis(Histogram::getMaxValue).max(),
                percentile(99).ratioTo(against.percentile(99)));
    }

    private CandidateSeries percentile(double percent) {
        return millis(round -> round.getValueAtPercentile(percent));
    }

    private CandidateSeries millis(ToLongFunction<Histogram> nanos) {
        return new CandidateSeries(
                name,
                rounds.stream()
                        .map(round -> nanos.applyAsLong(round) / NANOS_PER_MS)
                        .toList());
    }
}
