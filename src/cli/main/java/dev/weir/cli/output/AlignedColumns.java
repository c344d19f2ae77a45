package dev.weir.cli.output;

import dev.weir.fault.SafeText;
import java.util.List;

/** Lays out rows of text in columns that are as wide as their longest cell. */
public final class AlignedColumns {

    private static final String GAP = "  ";

    private AlignedColumns() {}

    /**
     * Returns one line for each row; control characters in a cell are escaped.
     *
     * @param rows at least one row; all rows have the same number of cells
     * @param leftAligned the number of columns that are aligned left; the columns after them are aligned right
     */
    public static List<String> lines(List<List<String>> rows, int leftAligned) {
        List<List<String>> legible = rows.stream()
                .map(row -> row.stream().map(SafeText::of).toList())
                .toList();
        int[] widths = new int[rows.get(0).size()];
        for (List<String> row : legible) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        return legible.stream().map(row -> line(row, widths, leftAligned)).toList();
    }

    private static String line(List<String> row, int[] widths, int leftAligned) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            String cell = row.get(i);
            String padding = " ".repeat(widths[i] - cell.length());
            line.append(i == 0 ? "" : GAP).append(i < leftAligned ? cell + padding : padding + cell);
        }
        return line.toString().stripTrailing();
    }
}
