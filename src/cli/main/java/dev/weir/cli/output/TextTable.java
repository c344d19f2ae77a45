package dev.weir.cli.output;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.console.TerminalWriter;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** A table with a header row, in columns as wide as their longest cell. Each row is one line. */
public final class TextTable {

    private final List<List<String>> rows = new ArrayList<>();

    public TextTable(String... head) {
        rows.add(List.of(head));
    }

    /** Returns a value as text; a dash if it is null or missing. */
    public static String orDash(JsonNode value) {
        return value.isNull() || value.isMissingNode() ? "-" : value.asText();
    }

    public void add(String... row) {
        rows.add(List.of(row));
    }

    public boolean isEmpty() {
        return rows.size() == 1;
    }

    /** @param ifEmpty the line that is printed if the table has no rows */
    public void print(PrintWriter out, String ifEmpty) {
        if (isEmpty()) {
            out.println(ifEmpty);
            return;
        }
        List<String> lines = AlignedColumns.lines(rows, rows.get(0).size());
        out.println(TerminalWriter.style(out).heading(lines.get(0)));
        lines.stream().skip(1).forEach(out::println);
    }
}
