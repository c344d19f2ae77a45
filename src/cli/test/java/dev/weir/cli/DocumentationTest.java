package dev.weir.cli;

import static java.util.stream.Collectors.collectingAndThen;
import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.json.RequestJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks the form and the language of the documentation, and that its links and reference blocks are right. */
class DocumentationTest {

    private static final int MAX_COLUMNS = 120;

    /** Of Avro's single-object encoding. */
    private static final int HEADER_BYTES = 10;

    private static final HexFormat GO_BYTES = HexFormat.ofDelimiter(", ").withPrefix("0x");

    /** Generated from the code, with lines of any length. */
    private static final Path TOPOLOGY = Path.of("topology-docs", "explanation", "topology.md");

    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.+)$");
    private static final Pattern FENCED = Pattern.compile("(?ms)^( *)```(\\w*)\n(.*?)^ *```$");

    /** Phrases that personify code, are archaic, or replace a standard term. */
    private static final Pattern BANNED = Stream.of(
                    "anew",
                    "in vain",
                    "is had",
                    "are had",
                    "stands? over",
                    "as it should be",
                    "at hand",
                    "what is none",
                    "somebody",
                    "everybody",
                    "whoever",
                    "look(s|ed)? after",
                    "goes on with",
                    "of one's own",
                    "who (asks|waits|comes|applies|reads|runs|changes|sends|is told)",
                    "(is|are|be) told",
                    "tells (who|what|how|why|whether|which|of|that)",
                    "takes note",
                    "had of it",
                    "(his|her) mind",
                    "is (let|lets) in",
                    "come(s)? by itself",
                    "so much (was|is)")
            .collect(collectingAndThen(
                    joining("|", "\\b(", ")\\b"), phrase -> Pattern.compile(phrase, Pattern.CASE_INSENSITIVE)));

    private static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>(List.of(Path.of("README.md"), Path.of("CHANGELOG.md")));
        pages.addAll(files(Path.of("topology-docs"), ".md"));
        pages.addAll(files(Path.of(".github"), ".md"));
        return pages;
    }

    /** What a reader sees of the product besides the pages: sources with comments and messages, and data with texts. */
    private static List<Path> sources() throws IOException {
        List<Path> sources = new ArrayList<>(files(Path.of("schemas"), ".avsc"));
        for (String ending : List.of(".java", ".js", ".html", ".yaml", ".json", ".properties")) {
            sources.addAll(files(Path.of("src"), ending));
        }
        sources.removeIf(file -> file.getFileName().toString().equals("DocumentationTest.java")
                || file.toString().contains("node_modules")
                || file.startsWith(Path.of("schemas", "earlier")));
        return sources;
    }

    private static List<Path> files(Path directory, String ending) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(file -> file.toString().endsWith(ending))
                    .sorted()
                    .toList();
        }
    }

    @Test
    void every_link_resolves() throws IOException {
        List<String> broken = new ArrayList<>();
        for (Path page : pages()) {
            for (MatchResult link :
                    LINK.matcher(Files.readString(page)).results().toList()) {
                String target = link.group(1);
                if (!target.matches("[a-z]+:.*") && !resolves(page, target)) {
                    broken.add(page + ": " + target);
                }
            }
        }
        assertThat(broken).isEmpty();
    }

    private static boolean resolves(Path page, String target) throws IOException {
        String[] parts = target.split("#", 2);
        Path file = parts[0].isEmpty() ? page : page.resolveSibling(parts[0]).normalize();
        return Files.exists(file) && (parts.length == 1 || anchors(file).contains(parts[1]));
    }

    /** Returns the anchors that GitHub gives the headings of a page. */
    private static Set<String> anchors(Path page) throws IOException {
        return HEADING.matcher(Files.readString(page))
                .results()
                .map(heading -> heading.group(1)
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-'))
                .collect(Collectors.toSet());
    }

    @Test
    void no_line_is_too_long() throws IOException {
        List<String> found = new ArrayList<>();
        for (Path page : pages()) {
            List<String> lines = page.equals(TOPOLOGY) ? List.of() : Files.readAllLines(page);
            for (int i = 0; i < lines.size(); i++) {
                if (lines.get(i).codePointCount(0, lines.get(i).length()) > MAX_COLUMNS) {
                    found.add(page + ":" + (i + 1));
                }
            }
        }
        assertThat(found).isEmpty();
    }

    @Test
    void every_code_fence_names_its_language() throws IOException {
        for (Path page : pages()) {
            List<String> fences = Files.readAllLines(page).stream()
                    .map(String::strip)
                    .filter(line -> line.startsWith("```"))
                    .toList();
            for (int i = 0; i < fences.size(); i++) {
                assertThat(fences.get(i)).as("%s, fence %d", page, i + 1).matches(i % 2 == 0 ? "```\\w+" : "```");
            }
        }
    }

    @Test
    void no_text_has_a_banned_phrase() throws IOException {
        List<String> found = new ArrayList<>();
        for (Path file : Stream.concat(pages().stream(), sources().stream()).toList()) {
            List<String> lines = Files.readAllLines(file);
            for (int i = 0; i < lines.size(); i++) {
                Matcher matcher = BANNED.matcher(lines.get(i));
                while (matcher.find()) {
                    found.add(file + ":" + (i + 1) + ": " + matcher.group());
                }
            }
        }
        assertThat(found).isEmpty();
    }

    @Test
    void the_policy_reference_shows_a_valid_file() throws Exception {
        List<String> blocks = yaml(Path.of("topology-docs", "reference", "policies.md"));
        assertThat(blocks).isNotEmpty();
        for (String block : blocks) {
            if (block.contains("policies:")) {
                assertThat(PolicyFile.read("policies.md", block).policies()).isNotEmpty();
            } else if (block.contains("queues:")) {
                assertThat(PolicyFile.read("policies.md", block).queues()).isNotEmpty();
            }
        }
    }

    @Test
    void the_configuration_reference_shows_the_defaults() throws Exception {
        List<String> blocks = yaml(Path.of("topology-docs", "reference", "configuration.md"));
        String all = blocks.stream()
                .filter(block -> block.contains("application-id:"))
                .findFirst()
                .orElseThrow();
        WeirConfig shown = ConfigFile.read("configuration.md", all, Map.of("WEIR_JAAS", "secret"));
        assertThat(shown)
                .usingRecursiveComparison()
                .ignoringFields("kafka", "registry")
                .ignoringFields(
                        "service.listener.healthPort", "service.tokens.read") // the defaults depend on other keys
                .isEqualTo(WeirConfig.DEFAULTS.withStateDirectory(
                        Path.of("/tmp", "weir"))); // tests have another java.io.tmpdir
    }

    @Test
    void the_page_for_other_languages_has_the_headers_of_the_records() throws Exception {
        Request request = RequestJson.read("{\"requestId\":\"r\",\"client\":\"c\"}", 0, new Request.Source(0, 0));
        Release release = Release.builder("r", "c", "q").build();
        String ofRequest = header(new RequestCodec().encode(request));
        assertThat(Path.of("topology-docs", "how-to", "other-languages.md"))
                .content()
                .contains("HEADER = bytes.fromhex(\"" + ofRequest + "\")")
                .contains("HEADER = Buffer.from('" + ofRequest + "', 'hex')")
                .contains("header = []byte{" + GO_BYTES.formatHex(HexFormat.of().parseHex(ofRequest)) + "}")
                .contains("| `RequestEvent` | `" + ofRequest + "` |")
                .contains("| `Decision` | `" + header(new DecisionCodec().encode(Decision.unmatched(request))) + "` |")
                .contains("| `Release` | `" + header(new ReleaseCodec().encode(release)) + "` |");
    }

    private static String header(byte[] value) {
        return HexFormat.of().formatHex(value, 0, HEADER_BYTES);
    }

    private static List<String> yaml(Path page) throws IOException {
        return FENCED.matcher(Files.readString(page))
                .results()
                .filter(fence -> fence.group(2).equals("yaml"))
                .map(fence -> fence.group(3))
                .toList();
    }
}
