package dev.weir.bench.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.bench.measure.ResultTable;
import dev.weir.cli.output.AlignedColumns;
import dev.weir.wire.json.Json;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Formats tables of measurements as text, JSON and Markdown. */
final class BenchTables {

    /** Values from here on are printed without decimals. */
    private static final double NO_DECIMALS_FROM = 100;

    private BenchTables() {}

    static void print(ResultTable table, PrintWriter out) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(row(table.title(), table.columns().stream()));
        for (ResultTable.Row row : table.rows()) {
            rows.add(row("  " + row.name(), row.values().stream().map(BenchTables::number)));
        }
        AlignedColumns.lines(rows, 1).forEach(out::println);
        table.notes().forEach(note -> out.println("  " + note));
        out.println();
    }

    private static List<String> row(String name, Stream<String> cells) {
        return Stream.concat(Stream.of(name), cells).toList();
    }

    static String json(ResultTable table, String machine) {
        ObjectNode root = Json.MAPPER.createObjectNode();
        root.put("measure", table.measure())
                .put("title", table.title())
                .put("machine", machine)
                .set("rows", Json.MAPPER.valueToTree(List.of()));
        for (ResultTable.Row row : table.rows()) {
            ObjectNode values = root.withArray("rows").addObject().put("name", row.name());
            for (int i = 0; i < table.columns().size(); i++) {
                double value = row.values().get(i);
                if (Double.isFinite(value)) {
                    values.put(table.columns().get(i), value);
                }
            }
        }
        root.set("notes", Json.MAPPER.valueToTree(table.notes()));
        return root.toString();
    }

    /** Replaces the tables of a measurement in a Markdown file, or appends them. All tables have the same measure. */
    static void report(List<ResultTable> tables, String machine, Path page) throws IOException {
        String before = Files.exists(page) ? Files.readString(page) : "";
        Files.writeString(page, reported(before, tables, machine), UTF_8);
    }

    private static String reported(String page, List<ResultTable> tables, String machine) {
        String measure = tables.get(0).measure();
        String begin = "<!-- weir-bench " + measure + " -->\n";
        String end = "<!-- end of weir-bench " + measure + " -->\n";
        String block = begin
                + tables.stream().map(BenchTables::markdown).collect(Collectors.joining("\n"))
                + "\n`bench " + measure + "`: " + machine + ".\n" + end;
        int from = page.indexOf(begin);
        int to = page.indexOf(end, Math.max(0, from));
        return from < 0 || to < 0
                ? page + (page.isEmpty() ? "" : "\n") + block
                : page.substring(0, from) + block + page.substring(to + end.length());
    }

    private static String markdown(ResultTable table) {
        StringBuilder lines = new StringBuilder("| " + table.title() + " |");
        table.columns().forEach(column -> lines.append(' ').append(column).append(" |"));
        lines.append("\n|---|").append("--:|".repeat(table.columns().size())).append('\n');
        for (ResultTable.Row row : table.rows()) {
            lines.append("| ").append(row.name()).append(" |");
            row.values()
                    .forEach(value -> lines.append(' ').append(number(value)).append(" |"));
            lines.append('\n');
        }
        table.notes().forEach(note -> lines.append("\n- ").append(note));
        return lines.append(table.notes().isEmpty() ? "" : "\n").toString();
    }

    private static String number(double value) {
        return Double.isNaN(value)
                ? "-"
                : String.format(Locale.ROOT, Math.abs(value) < NO_DECIMALS_FROM ? "%.2f" : "%,.0f", value);
    }
}
