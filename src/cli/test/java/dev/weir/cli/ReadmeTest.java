package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.cli.output.PolicyChangePrinter;
import dev.weir.definition.PolicyFile;
import dev.weir.rules.PolicyTopic;
import dev.weir.wire.PolicyAvro;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checks the blocks of the README. {@link ReadmeWalkTest} runs its commands. */
class ReadmeTest {

    private static final Path README = Path.of("README.md");
    private static final Pattern BLOCK = Pattern.compile("```(\\w*)\n(.*?)```", Pattern.DOTALL);
    private static final Pattern FILE = Pattern.compile("cat > (\\S+) <<'END'\n(.*?\n)END", Pattern.DOTALL);

    /** The text of the fenced blocks of a language in the README. */
    static List<String> blocks(String language) throws IOException {
        return blocks(README, language);
    }

    /** The text of the fenced blocks of a language in a page. */
    static List<String> blocks(Path page, String language) throws IOException {
        List<String> blocks = new ArrayList<>();
        Matcher matcher = BLOCK.matcher(Files.readString(page));
        while (matcher.find()) {
            if (matcher.group(1).equals(language)) {
                blocks.add(matcher.group(2));
            }
        }
        return blocks;
    }

    /** The shell commands of the README in their order. */
    static List<String> commands() throws IOException {
        return commands(README);
    }

    /** The shell commands of a page. A here-document is one command, as are lines that a backslash joins. */
    static List<String> commands(Path page) throws IOException {
        List<String> commands = new ArrayList<>();
        for (String block : blocks(page, "bash")) {
            StringBuilder command = new StringBuilder();
            boolean inHereDocument = false;
            for (String line : block.lines().toList()) {
                command.append(command.isEmpty() ? "" : "\n").append(line);
                inHereDocument = inHereDocument ? !line.equals("END") : line.endsWith("<<'END'");
                if (!inHereDocument && !line.endsWith("\\")) {
                    commands.add(command.toString());
                    command.setLength(0);
                }
            }
            assertThat(command).as("unfinished command").isEmpty();
        }
        return commands;
    }

    /** The files that the commands create, by name. */
    static Map<String, String> files() throws IOException {
        Map<String, String> files = new LinkedHashMap<>();
        for (String command : commands()) {
            Matcher matcher = FILE.matcher(command);
            if (matcher.matches()) {
                files.put(matcher.group(1), matcher.group(2));
            }
        }
        return files;
    }

    @Test
    void every_block_is_a_command_or_output() throws IOException {
        assertThat(Files.readString(README).lines().filter(line -> line.startsWith("```")))
                .hasSize(2 * (blocks("bash").size() + blocks("text").size()));
        assertThat(blocks("text")).hasSize(2);
        assertThat(files())
                .containsOnlyKeys("rules.yaml", "requests.ndjson", "sms.yaml", "messages.ndjson", "Ask.java");
    }

    @Test
    void every_policy_file_is_valid() throws Exception {
        for (Map.Entry<String, String> file : files().entrySet()) {
            if (file.getKey().endsWith(".yaml")) {
                assertThat(PolicyFile.read(file.getKey(), file.getValue()).policies())
                        .isNotEmpty();
            }
        }
    }

    @Test
    void the_example_decisions_are_those_of_a_backtest(@TempDir Path directory) throws IOException {
        for (String name : List.of("rules.yaml", "requests.ndjson")) {
            Files.writeString(directory.resolve(name), files().get(name));
        }
        StringWriter out = new StringWriter();
        int exit = Main.execute(
                new PrintWriter(out, true),
                new PrintWriter(new StringWriter()),
                "backtest",
                "--policies",
                directory.resolve("rules.yaml").toString(),
                "--requests",
                directory.resolve("requests.ndjson").toString(),
                "--decisions",
                "-");
        assertThat(exit).isZero();
        List<String> shown = blocks("text").get(0).lines().toList();
        List<String> real = out.toString().lines().toList();
        assertThat(real).hasSameSizeAs(shown);
        for (int i = 0; i < shown.size(); i++) {
            assertThat(real.get(i)).matches(abridged(shown.get(i)));
        }
    }

    /** A pattern of a line in which … stands for omitted text. */
    private static Pattern abridged(String line) {
        return Pattern.compile("\\Q" + line.replace("…", "\\E.*\\Q") + "\\E");
    }

    @Test
    void the_example_change_equals_the_output() throws Exception {
        String rules = files().get("rules.yaml");
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
        assertThat(blocks("text").get(1)).isEqualTo(out.toString());
    }
}
