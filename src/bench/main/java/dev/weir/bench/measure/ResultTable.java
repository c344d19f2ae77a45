package dev.weir.bench.measure;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The results of one run. The first row is what the other rows are compared with.
 *
 * @param measure the name of the subcommand of {@code weir-bench}
 * @param columns the names of the values of each row, with their units
 * @param notes the conditions of the measurement
 */
public record ResultTable(String measure, String title, List<String> columns, List<Row> rows, List<String> notes) {

    /**
     * The results of one candidate.
     *
     * @param values one value for each column; NaN if there is none
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
                throw new IllegalArgumentException(row + " must have one value for each of " + columns);
            }
        }
    }

    /** Returns a table of candidates that were measured in the same rounds. */
    public static ResultTable of(
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
