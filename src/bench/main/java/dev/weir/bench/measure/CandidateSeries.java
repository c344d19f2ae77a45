package dev.weir.bench.measure;

import java.util.Arrays;
import java.util.List;

/**
 * The results of one candidate.
 *
 * @param values one value for each round
 */
public record CandidateSeries(String name, List<Double> values) {

    public CandidateSeries {
        values = List.copyOf(values);
    }

    public double median() {
        return median(values);
    }

    public double min() {
        return values.stream().mapToDouble(Double::doubleValue).min().orElse(Double.NaN);
    }

    public double max() {
        return values.stream().mapToDouble(Double::doubleValue).max().orElse(Double.NaN);
    }

    /**
     * Returns the median of the ratios to another series of the same rounds. Ratios are taken round by round, so that
     * drift of the machine affects both series.
     */
    public double ratioTo(CandidateSeries other) {
        double[] ratios = new double[Math.min(values.size(), other.values.size())];
        Arrays.setAll(ratios, i -> values.get(i) / other.values.get(i));
        return median(Arrays.stream(ratios).boxed().toList());
    }

    private static double median(List<Double> of) {
        double[] sorted = of.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        int half = sorted.length / 2;
        return sorted.length == 0
                ? Double.NaN
                : sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }
}
