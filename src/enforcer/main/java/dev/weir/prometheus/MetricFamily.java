package dev.weir.prometheus;

import dev.weir.metrics.Histogram;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricMetadata;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/** The values of a metric by its labels. */
final class MetricFamily {

    private static final double MS_PER_SECOND = 1_000;

    private final MetricMetadata metadata;
    private final String[] labelNames;
    private final SortedMap<Labels, Double> values = new TreeMap<>();
    private final SortedMap<Labels, Histogram.Reading> histograms = new TreeMap<>();

    /** @param help the help text of the metric */
    MetricFamily(String name, String help, String... labelNames) {
        metadata = new MetricMetadata(name, help);
        this.labelNames = labelNames;
    }

    /** Adds to the value of the labels. The label values must be in the order of their names. */
    MetricFamily add(double value, String... labels) {
        values.merge(Labels.of(labelNames, labels), value, Double::sum);
        return this;
    }

    /** Sets the value of the labels to the maximum of the current and the given one. */
    MetricFamily max(double value, String... labels) {
        values.merge(Labels.of(labelNames, labels), value, Math::max);
        return this;
    }

    /** @param ms a histogram of milliseconds */
    MetricFamily addHistogram(Histogram.Reading ms, String... labels) {
        histograms.put(Labels.of(labelNames, labels), ms);
        return this;
    }

    MetricSnapshot counter() {
        List<CounterDataPointSnapshot> points = new ArrayList<>();
        values.forEach((labels, value) -> points.add(new CounterDataPointSnapshot(value, labels, null, 0)));
        return new CounterSnapshot(metadata, points);
    }

    MetricSnapshot gauge() {
        List<GaugeDataPointSnapshot> points = new ArrayList<>();
        values.forEach((labels, value) -> points.add(new GaugeDataPointSnapshot(value, labels, null)));
        return new GaugeSnapshot(metadata, points);
    }

    /** Returns the histograms, converted to seconds. */
    MetricSnapshot histogram() {
        List<HistogramDataPointSnapshot> points = new ArrayList<>();
        histograms.forEach((labels, ms) -> points.add(HistogramDataPointSnapshot.builder()
                .labels(labels)
                .sum(ms.sum() / MS_PER_SECOND)
                .classicHistogramBuckets(buckets(ms))
                .build()));
        return new HistogramSnapshot(metadata, points);
    }

    private static ClassicHistogramBuckets buckets(Histogram.Reading ms) {
        List<Double> bounds = new ArrayList<>();
        ms.bounds().forEach(bound -> bounds.add(bound / MS_PER_SECOND));
        bounds.add(Double.POSITIVE_INFINITY);
        return ClassicHistogramBuckets.of(bounds, Collections.unmodifiableList(ms.counts()));
    }
}
