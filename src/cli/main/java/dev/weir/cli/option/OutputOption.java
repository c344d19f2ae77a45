package dev.weir.cli.option;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import dev.weir.console.OutputException;
import dev.weir.fault.SafeText;
import dev.weir.wire.json.Json;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.function.BiConsumer;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.DumperOptions.FlowStyle;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The option {@code --output}, which selects how a command prints its result. */
public final class OutputOption {

    private enum Format {
        TABLE,
        JSON,
        YAML;

        /** Returns the value in lower case, as the completion of a shell offers it. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FORMAT",
            defaultValue = "table",
            description = "Print the result as table, json (on one line) or yaml (default: ${DEFAULT-VALUE}).")
    private Format format;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    /** Returns whether the result is printed for people. Then a command can print parts of it as they are found. */
    public boolean isTable() {
        return format == Format.TABLE;
    }

    /**
     * Prints a result.
     *
     * @param table prints the result for people
     * @throws OutputException if standard output cannot be written
     */
    public void print(JsonNode result, BiConsumer<JsonNode, PrintWriter> table) {
        PrintWriter out = command.commandLine().getOut();
        switch (format) {
            case TABLE -> table.accept(result, out);
            case JSON -> out.println(SafeText.of(Json.write(result)));
            case YAML -> out.print(yaml(result));
        }
        out.flush();
    }

    /** Returns YAML that is safe to print: all texts are quoted, and characters outside ASCII are escaped. */
    private static String yaml(JsonNode result) {
        DumperOptions options = new DumperOptions();
        options.setAllowUnicode(false);
        options.setDefaultFlowStyle(FlowStyle.BLOCK);
        options.setSplitLines(false);
        try {
            return new ObjectMapper(YAMLFactory.builder()
                            .dumperOptions(options)
                            .disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER)
                            .build())
                    .writeValueAsString(result);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // cannot happen: it writes to memory
        }
    }
}
