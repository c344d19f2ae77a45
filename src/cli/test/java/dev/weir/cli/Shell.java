package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.util.stream.Stream;

/** Runs a command of {@code weir} in this process. */
public final class Shell {

    private Shell() {}

    public static CapturedRun run(String... args) {
        return CapturedRun.of(Main::execute, args);
    }

    /** Runs a command with {@code -o json} and {@code -o yaml}. Returns what it prints, which must be the same. */
    static JsonNode document(String... args) throws IOException {
        CapturedRun json = run(with("json", args));
        assertThat(json.out()).as(json.err()).hasLineCount(1);
        JsonNode document = new ObjectMapper().readTree(json.out());
        String yaml = run(with("yaml", args)).out();
        assertThat(new YAMLMapper().readTree(yaml)).isEqualTo(document);
        assertThat(yaml).as("is no JSON").doesNotStartWith("{");
        assertThat(json.out() + yaml).matches("[\\P{C}\n]*");
        return document;
    }

    private static String[] with(String format, String... args) {
        return Stream.concat(Stream.of(args), Stream.of("-o", format)).toArray(String[]::new);
    }
}
