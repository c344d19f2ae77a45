package dev.weir.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A table with a header row, in columns as wide as their longest cell. Each row is one line. */
final class TextTable {

    private final List<List<String>> rows = new ArrayList<>();

    TextTable(String... head) {
        rows.add(List.of(head));
    }

    /** Returns a duration as text, with two units at most, such as {@code 70ms}, {@code 2.5s} or {@code 1m 15s}. */
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

    /** Returns a value as text; a dash if it is null or missing. */
    static String orDash(JsonNode value) {
        return value.isNull() || value.isMissingNode() ? "-" : value.asText();
    }

    void add(String... row) {
        rows.add(List.of(row));
    }

    /** @param ifEmpty the line that is printed if the table has no rows */
    void print(PrintWriter out, String ifEmpty) {
        if (rows.size() == 1) {
            out.println(ifEmpty);
            return;
        }
        List<String> lines = AlignedColumns.lines(rows, rows.get(0).size());
        out.println(TerminalWriter.style(out).heading(lines.get(0)));
        lines.stream().skip(1).forEach(out::println);
    }
}
