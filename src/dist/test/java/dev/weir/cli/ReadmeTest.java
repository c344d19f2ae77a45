package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.config.ConfigFile;
import dev.weir.definition.PolicyFile;
import dev.weir.rules.PolicyTopic;
import dev.weir.wire.PolicyAvro;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the README shows is what the program takes. */
class ReadmeTest {

    private static final Pattern BLOCK = Pattern.compile("```(\\w*)\n(.*?)```", Pattern.DOTALL);

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

    /** Commands are run by {@link ReadmeWalkTest}; Java is compiled by ExamplesTest; JSON and text are below. */
    @Test
    void every_block_is_of_a_kind_that_is_tried() throws IOException {
        assertThat(Files.readString(Path.of("README.md")).lines().filter(line -> line.startsWith("```")))
                .hasSize(2
                        * (blocks("").size()
                                + blocks("yaml").size()
                                + blocks("json").size()
                                + blocks("text").size()
                                + blocks("java").size()));
        assertThat(yaml()).hasSize(4);
        assertThat(blocks("json")).hasSize(1);
        assertThat(blocks("text")).hasSize(1);
        assertThat(blocks("").get(0).text).contains("▶").doesNotContain("weir.jar");
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
        PolicyChangePrinter.print(new PrintWriter(out), List.of(change));
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
