package dev.weir.bench;

import java.io.PrintWriter;
import java.util.List;

/** Prints tables as text. */
public final class Report {

    private final PrintWriter out;

    public Report(PrintWriter out) {
        this.out = out;
    }

    public void print(List<Table> tables) {
        tables.forEach(this::print);
    }

    public void print(Table table) {
        out.printf("%n%-44s %14s %14s %14s %7s%n", table.title(), table.unit(), "min", "max", "ratio");
        for (Table.Row row : table.rows()) {
            out.printf(
                    "  %-42s %,14.0f %,14.0f %,14.0f %7.2f%n",
                    row.name(), row.median(), row.min(), row.max(), row.ratio());
        }
        table.notes().forEach(note -> out.println("  " + note));
        out.flush();
    }
}
