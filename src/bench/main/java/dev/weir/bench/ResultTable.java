package dev.weir.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What was measured side by side in one run: the first row is what the others are held against.
 *
 * @param measure what it is of, the name of a subcommand of {@code weir-bench}
 * @param columns what the values of each row are, with their unit
 * @param notes what it was measured with
 */
public record ResultTable(String measure, String title, List<String> columns, List<Row> rows, List<String> notes) {

    /**
     * One candidate.
     *
     * @param values one of each column, NaN where there is none
     */
    public record Row(String name, List<Double> values) {
        public Row {
            values = List.copyOf(values);
        }

        public static Row of(String name, double... values) {
            return new Row(name, Arrays.stream(values).boxed().toList());
        }
    }

    public ResultTable {
        columns = List.copyOf(columns);
        rows = List.copyOf(rows);
        notes = List.copyOf(notes);
        for (Row row : rows) {
            if (row.values.size() != columns.size()) {
                throw new IllegalArgumentException(row + " has not one value of each of " + columns);
            }
        }
    }

    /** A table of candidates that were measured in the same rounds. */
    static ResultTable of(
            String measure, String title, String unit, List<CandidateSeries> candidates, List<String> notes) {
        List<Row> rows = new ArrayList<>();
        for (CandidateSeries candidate : candidates) {
            rows.add(Row.of(
                    candidate.name(),
                    candidate.median(),
                    candidate.min(),
                    candidate.max(),
                    candidate.ratioTo(candidates.get(0))));
        }
        return new ResultTable(measure, title, List.of(unit, "min", "max", "ratio"), rows, notes);
    }
}
