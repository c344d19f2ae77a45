package dev.weir.cli;

import dev.weir.codec.OneLine;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Rows under a head, in columns as wide as they need to be; a row is a line, whatever is in it. */
final class Table {

    private final List<List<String>> rows = new ArrayList<>();

    Table(String... head) {
        rows.add(List.of(head));
    }

    /** About how long, short enough for a column. */
    static String time(long ms) {
        if (ms < 1_000) {
            return ms + "ms";
        }
        long seconds = ms / 1_000;
        return seconds < 60
                ? String.format(Locale.ROOT, "%.1fs", ms / 1_000.0)
                : seconds < 3_600
                        ? seconds / 60 + "m " + seconds % 60 + "s"
                        : seconds / 3_600 + "h " + seconds / 60 % 60 + "m";
    }

    void add(String... row) {
        rows.add(Arrays.stream(row).map(OneLine::of).toList());
    }

    /** @param ifEmpty printed if there is no row */
    void print(PrintWriter out, String ifEmpty) {
        if (rows.size() == 1) {
            out.println(ifEmpty);
            return;
        }
        int columns = rows.get(0).size();
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                line.append(row.get(i)).append(" ".repeat(widths[i] - row.get(i).length() + 2));
            }
            out.println(line.toString().stripTrailing());
        }
    }
}
