package dev.weir.bench;

import java.util.ArrayList;
import java.util.List;

/**
 * What was measured side by side in one run: the first candidate is what the others are held against.
 *
 * @param unit of all values
 * @param notes what it was measured with
 */
public record Table(String title, String unit, List<Row> rows, List<String> notes) {

    /**
     * One candidate.
     *
     * @param ratio to the first one, NaN where that makes no sense
     */
    public record Row(String name, double median, double min, double max, double ratio) {}

    public Table {
        rows = List.copyOf(rows);
        notes = List.copyOf(notes);
    }

    /** A table of candidates that were measured in the same rounds. */
    static Table of(String title, String unit, List<Series> candidates, List<String> notes) {
        List<Row> rows = new ArrayList<>();
        for (Series candidate : candidates) {
            rows.add(new Row(
                    candidate.name(),
                    candidate.median(),
                    candidate.min(),
                    candidate.max(),
                    candidate.ratioTo(candidates.get(0))));
        }
        return new Table(title, unit, rows, notes);
    }
}
