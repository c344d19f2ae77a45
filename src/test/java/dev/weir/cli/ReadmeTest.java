package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import dev.weir.app.PolicyTopic;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.PolicyFile;
import dev.weir.config.ConfigFile;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;

/** What the README shows is what the program takes. */
class ReadmeTest {

    private static final Pattern BLOCK = Pattern.compile("```(\\w*)\n(.*?)```", Pattern.DOTALL);

    private static final Pattern CALL = Pattern.compile("curl (?:-X ([A-Z]+) )?'?localhost:8680([^ ?']*).*");

    /** A fenced block of the README. */
    record Block(String language, String text) {
        @Override
        public String toString() {
            return text.lines().findFirst().orElse("");
        }
    }

    static List<Block> blocks(String language) throws IOException {
        List<Block> blocks = new ArrayList<>();
        Matcher matcher = BLOCK.matcher(Files.readString(Path.of("README.md")));
        while (matcher.find()) {
            if (matcher.group(1).equals(language)) {
                blocks.add(new Block(language, matcher.group(2)));
            }
        }
        return blocks;
    }

    static List<Block> yaml() throws IOException {
        return blocks("yaml");
    }

    static Stream<String> commands() throws IOException {
        return blocks("").stream()
                .flatMap(block -> block.text.lines())
                .filter(line -> line.contains("java -jar target/weir.jar "))
                .map(line -> line.substring(line.indexOf("weir.jar ") + "weir.jar ".length()));
    }

    static Stream<String> calls() throws IOException {
        return blocks("").stream().flatMap(block -> block.text.lines()).filter(line -> line.startsWith("curl "));
    }

    @ParameterizedTest
    @MethodSource("yaml")
    void every_yaml_block_is_read(Block block) {
        assertThatCode(() -> {
                    if (block.text.contains("policies:")) {
                        assertThat(PolicyFile.read("README", block.text).policies())
                                .isNotEmpty();
                    } else {
                        String text = block.text.replace("${env:WEIR_JAAS}", "secret");
                        ConfigFile.read("README", text);
                    }
                })
                .doesNotThrowAnyException();
    }

    @ParameterizedTest
    @MethodSource("commands")
    void every_command_is_one(String command) {
        assertThatCode(() -> new CommandLine(new Main())
                        .setCaseInsensitiveEnumValuesAllowed(true)
                        .parseArgs(command.split(" ")))
                .doesNotThrowAnyException();
    }

    @ParameterizedTest
    @MethodSource("calls")
    void every_call_is_of_an_operation_of_the_service(String call) throws IOException {
        Matcher parts = CALL.matcher(call);
        assertThat(parts.matches()).isTrue();
        String method = parts.group(1) != null ? parts.group(1) : call.matches(".* (-d|--data).*") ? "POST" : "GET";
        JsonNode paths;
        try (InputStream in = ReadmeTest.class.getResourceAsStream("/openapi.yaml")) {
            paths = new ObjectMapper(new YAMLFactory()).readTree(in).get("paths");
        }
        assertThat(paths.properties())
                .anyMatch(path -> parts.group(2).matches(path.getKey().replaceAll("\\{[a-z]+}", "[^/]+"))
                        && path.getValue().has(method.toLowerCase(Locale.ROOT)));
    }

    @Test
    void the_blocks_are_found() throws IOException {
        assertThat(yaml()).hasSize(4);
        assertThat(commands()).hasSize(14);
        assertThat(calls()).hasSize(5);
    }

    @Test
    void the_example_change_is_what_is_printed() throws Exception {
        String rules = yaml().get(0).text;
        StringWriter out = new StringWriter();
        PolicyTopic.Change change = new PolicyTopic.Change(
                PolicyAvro.Kind.POLICY,
                "free-articles",
                PolicyTopic.Effect.CHANGED,
                2,
                PolicyFile.read("README", rules).policies().get(0).json(),
                PolicyFile.read("README", rules.replace("limit: 2", "limit: 5"))
                        .policies()
                        .get(0)
                        .json());
        PolicyChanges.print(new PrintWriter(out), List.of(change));
        assertThat(blocks("text")).extracting(Block::text).containsExactly(out.toString());
    }

    @Test
    void the_example_decision_has_the_fields_of_a_real_one(@TempDir Path directory) throws IOException {
        Path policies = directory.resolve("rules.yaml");
        Path requests = directory.resolve("requests.ndjson");
        Files.writeString(policies, yaml().get(0).text);
        Matcher request = Pattern.compile("echo '(.*?)'").matcher(Files.readString(Path.of("README.md")));
        assertThat(request.find()).isTrue();
        Files.writeString(requests, request.group(1));
        StringWriter out = new StringWriter();
        int exit = Main.execute(
                new PrintWriter(out, true),
                new PrintWriter(new StringWriter()),
                "backtest",
                "-p",
                policies.toString(),
                "-r",
                requests.toString(),
                "-d",
                "-");
        assertThat(exit).isZero();
        ObjectMapper mapper = new ObjectMapper();
        JsonNode real = mapper.readTree(out.toString());
        JsonNode shown = mapper.readTree(blocks("json").get(0).text);
        for (String same : List.of("requestId", "outcome", "policyId", "limitedBy", "remaining", "resetAfterMs")) {
            assertThat(shown.get(same)).as(same).isEqualTo(real.get(same));
        }
        assertThat(shown.fieldNames()).toIterable().containsExactlyElementsOf(real::fieldNames);
    }
}
