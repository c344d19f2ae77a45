package dev.weir.bench.cli;

import dev.weir.bench.measure.MachineInfo;
import dev.weir.bench.measure.ResultTable;
import dev.weir.cli.HelpCommand;
import dev.weir.console.RootCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

@Command(
        name = "weir-bench",
        mixinStandardHelpOptions = true,
        versionProvider = RootCommand.Version.class,
        description = "Measures Weir and other rate limiters on this machine.",
        synopsisSubcommandLabel = "[COMMAND]",
        footer = {"", "Without a command, runs all of them one after the other, which takes more than an hour."},
        subcommands = {
            BenchDecideCommand.class,
            BenchLatencyCommand.class,
            BenchHttpCommand.class,
            BenchGatewayCommand.class,
            BenchPeersCommand.class,
            BenchShapeCommand.class,
            BenchKeysCommand.class,
            BenchWorkersCommand.class,
            BenchReserveCommand.class,
            BenchShareCommand.class,
            BenchLeasesCommand.class,
            BenchRedisCommand.class,
            BenchGrowthCommand.class,
            HelpCommand.class
        })
public final class BenchCommand extends RootCommand {

    @Option(names = "--json", scope = ScopeType.INHERIT, description = "Print each table as one line of JSON.")
    private boolean json;

    @Option(
            names = "--report",
            paramLabel = "FILE",
            scope = ScopeType.INHERIT,
            description = "A Markdown file in which to replace the tables of the measurement. Created if missing.")
    private Path report;

    public static void main(String[] args) {
        new BenchCommand().runAndExit(args);
    }

    @Override
    public Integer call() {
        List<String> options = new ArrayList<>();
        if (json) {
            options.add("--json");
        }
        if (report != null) {
            options.add("--report=" + report);
        }
        CommandLine own = spec().commandLine();
        for (CommandLine command : own.getSubcommands().values()) {
            if (command.getCommand() instanceof HelpCommand) {
                continue;
            }
            int exit = command.execute(options.toArray(String[]::new));
            if (exit != 0) {
                return exit;
            }
        }
        return 0;
    }

    /** Returns the writer for progress messages. */
    PrintWriter progress() {
        return spec().commandLine().getErr();
    }

    /** Prints the tables of one measurement, and updates the report. */
    void print(List<ResultTable> tables) throws IOException {
        String machine = MachineInfo.describe();
        PrintWriter out = spec().commandLine().getOut();
        for (ResultTable table : tables) {
            if (json) {
                out.println(BenchTables.json(table, machine));
            } else {
                BenchTables.print(table, out);
            }
        }
        if (!json) {
            out.println(machine);
        }
        out.flush();
        if (report != null) {
            BenchTables.report(tables, machine, report);
        }
    }
}
