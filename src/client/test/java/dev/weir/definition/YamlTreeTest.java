package dev.weir.definition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.fault.Fault;
import dev.weir.fault.Faults;
import dev.weir.fault.FaultsException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class YamlTreeTest {

    private static final String WRONG_INDENTATION = "f.yaml:%d: is not valid YAML: wrong indentation; indent all keys"
            + " and items of a level by the same number of spaces (column %d)";

    private final Faults faults = new Faults("f.yaml");

    @TempDir
    private Path directory;

    @Test
    void reads_mappings_lists_and_scalars() {
        YamlTree tree = YamlTree.read("""
                name: NO            # a country, not false
                version: 1.10
                list: [a, 'b', "c"]
                count: 1_000_000
                on: true
                off: false
                word: two
                single: x
                """, faults);

        assertThat(tree.fields().keySet())
                .containsExactly("name", "version", "list", "count", "on", "off", "word", "single");
        assertThat(tree.get("name").text()).isEqualTo("NO");
        assertThat(tree.get("version").text()).isEqualTo("1.10");
        assertThat(tree.get("list").items()).map(YamlTree::text).containsExactly("a", "b", "c");
        assertThat(tree.get("list").itemsOrOne()).map(YamlTree::text).containsExactly("a", "b", "c");
        assertThat(tree.get("single").itemsOrOne()).map(YamlTree::text).containsExactly("x");
        assertThat(tree.get("count").wholeNumber(0, 1_000_000)).isEqualTo(1_000_000);
        assertThat(tree.get("on").flag()).isTrue();
        assertThat(tree.get("off").flag()).isFalse();
        assertThat(tree.get("word").oneOf(Map.of("one", 1, "two", 2))).isEqualTo(2);
        assertThat(tree.get("word").read(String::length)).isEqualTo(3);
        assertThat(lines()).isEmpty();
    }

    @Test
    void a_missing_key_is_null_and_no_fault() {
        YamlTree missing = YamlTree.read("a: 1", faults).get("b").get("c");

        assertThat(missing.isPresent()).isFalse();
        assertThat(missing.isEmpty()).isFalse();
        assertThat(missing.text()).isNull();
        assertThat(missing.flag()).isNull();
        assertThat(missing.wholeNumber(0, 1)).isNull();
        assertThat(missing.read(String::length)).isNull();
        assertThat(missing.oneOf(Map.of("a", 1))).isNull();
        assertThat(missing.items()).isEmpty();
        assertThat(missing.itemsOrOne()).isEmpty();
        assertThat(missing.fields()).isEmpty();
        assertThat(lines()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " \n\n", "# nothing\n", "---\n", "~", "null", "\uFEFF"})
    void an_empty_document_is_an_empty_tree(String text) {
        assertThat(YamlTree.read(text, faults).isEmpty()).isTrue();
        assertThat(lines()).isEmpty();
    }

    static Stream<Arguments> wrongKinds() {
        Map<String, List<String>> rows = new LinkedHashMap<>();
        rows.put("x: [1]", List.of("a single value, is a list", "is a list"));
        rows.put("x: {a: 1}", List.of("a single value, is a mapping", "is a mapping"));
        rows.put("x:", List.of("a single value, is empty", "is empty"));
        rows.put("x: ~", List.of("a single value, is empty", "is empty"));
        return rows.entrySet().stream()
                .map(row -> Arguments.of(
                        row.getKey(), row.getValue().get(0), row.getValue().get(1)));
    }

    @ParameterizedTest
    @MethodSource("wrongKinds")
    void reports_the_expected_and_the_actual_type(String text, String noScalar, String actual) {
        YamlTree value = YamlTree.read(text, faults).get("x");

        value.text();
        value.wholeNumber(1, 5);
        value.flag();
        value.oneOf(Map.of("one", 1));

        assertThat(lines())
                .containsExactly(
                        "f.yaml:1: x: must be " + noScalar,
                        "f.yaml:1: x: must be a whole number from 1 to 5, " + actual,
                        "f.yaml:1: x: must be true or false, " + actual,
                        "f.yaml:1: x: must be one of one, " + actual);
    }

    @Test
    void reports_a_scalar_in_place_of_a_collection() {
        YamlTree tree = YamlTree.read("a: x\nb: {c: d}\nc:", faults);

        tree.get("a").fields();
        tree.get("a").items();
        tree.get("b").itemsOrOne();
        tree.get("c").itemsOrOne();

        assertThat(lines())
                .containsExactly(
                        "f.yaml:1: a: must be a mapping, is 'x'",
                        "f.yaml:1: a: must be a list, is 'x'",
                        "f.yaml:2: b: must be a single value or a list, is a mapping",
                        "f.yaml:3: c: must be a single value or a list, is empty");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0",
                "6",
                "-1",
                "1.0",
                "1e0",
                "0x1",
                "01",
                "+1",
                "1_",
                "_1",
                "1__0",
                "'1 '",
                "one",
                "99999999999999999999999999999999999999999999999999",
                "9223372036854775808"
            })
    void a_whole_number_is_an_integer_in_its_range(String text) {
        YamlTree value = YamlTree.read(text, faults);

        assertThat(value.wholeNumber(1, 5)).isNull();
        assertThat(lines())
                .containsExactly("f.yaml:1: must be a whole number from 1 to 5, is '" + text.replace("'", "") + "'");
    }

    @Test
    void whole_numbers_have_the_range_of_a_long() {
        assertThat(YamlTree.read("-9223372036854775808", faults).wholeNumber(Long.MIN_VALUE, Long.MAX_VALUE))
                .isEqualTo(Long.MIN_VALUE);
        assertThat(YamlTree.read("9_223_372_036_854_775_807", faults).wholeNumber(Long.MIN_VALUE, Long.MAX_VALUE))
                .isEqualTo(Long.MAX_VALUE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"yes", "True", "on", "1"})
    void a_flag_is_true_or_false_and_nothing_else(String text) {
        assertThat(YamlTree.read(text, faults).flag()).isNull();
        assertThat(lines()).containsExactly("f.yaml:1: must be true or false, is '" + text + "'");
    }

    @Test
    void a_flag_has_no_quotes() {
        assertThat(YamlTree.read("'true'", faults).flag()).isNull();
        assertThat(lines()).containsExactly("f.yaml:1: must be true or false without quotes, is 'true'");
    }

    @Test
    void an_illegal_argument_is_a_fault_that_names_the_value_once() {
        YamlTree tree = YamlTree.read("a:\n  b: 1", faults);
        YamlTree value = tree.get("a").get("b");

        String read = value.read(text -> {
            throw new IllegalArgumentException("b must be 2");
        });
        String noted = value.noting(() -> {
            throw new IllegalArgumentException("a.b must be 3");
        });
        value.fault("bad");

        assertThat(read).isNull();
        assertThat(noted).isNull();
        assertThat(lines())
                .containsExactly("f.yaml:2: a.b: must be 2", "f.yaml:2: a.b: must be 3", "f.yaml:2: a.b: bad");
    }

    static Stream<Arguments> unknownKeys() {
        return Stream.of(
                Arguments.of("pre", "unknown key; did you mean \"per\"?"),
                Arguments.of("pers", "unknown key; did you mean \"per\"?"),
                Arguments.of("max_size", "unknown key; did you mean \"max-size\"?"),
                Arguments.of("maxSize", "unknown key; did you mean \"max-size\"?"),
                Arguments.of("onExceed", "unknown key; did you mean \"on-exceed\"?"),
                Arguments.of("limits", "unknown key; did you mean \"limit\"?"),
                Arguments.of("priority", "unknown key"),
                Arguments.of("x", "unknown key"));
    }

    @ParameterizedTest
    @MethodSource("unknownKeys")
    void an_unknown_key_is_a_fault_with_a_suggestion(String key, String message) {
        YamlTree.read(key + ": 1", faults).fields(List.of("per", "limit", "max-size", "on-exceed"));

        assertThat(lines()).containsExactly("f.yaml:1: " + key + ": " + message);
    }

    @Test
    void a_required_key_is_a_fault_if_it_is_missing() {
        YamlTree tree = YamlTree.read("- {a: 1}", faults).items().get(0);

        assertThat(tree.require("a").text()).isEqualTo("1");
        assertThat(tree.require("b").isPresent()).isFalse();
        assertThat(lines()).containsExactly("f.yaml:1: [0].b: is required");
    }

    static Stream<Arguments> structuralFaults() {
        return Stream.of(
                Arguments.of("a: 1\nb: 2\na: 3\n", "f.yaml:3: a: duplicate key; the first is on line 1"),
                Arguments.of("{\"a\": 1,\n\"a\": 2}", "f.yaml:2: a: duplicate key; the first is on line 1"),
                Arguments.of(
                        "a:\n  - {b: 1}\n  - {c: 1, c: 2}\n",
                        "f.yaml:3: a[1].c: duplicate key; the first is on line 3"),
                Arguments.of("a: &x 1\n", "f.yaml:1: a: anchors (&) are not supported"),
                Arguments.of("a:\n  &x b: 1\n", "f.yaml:2: a.b: anchors (&) are not supported"),
                Arguments.of("- &x [1]\n", "f.yaml:1: [0]: anchors (&) are not supported"),
                Arguments.of("a: *x\n", "f.yaml:1: a: aliases (*) are not supported"),
                Arguments.of("*x : 1\n", "f.yaml:1: a key must be a single value"),
                Arguments.of("a: !!str 1\n", "f.yaml:1: a: tags (!) are not supported"),
                Arguments.of("a: !x {b: 1}\n", "f.yaml:1: a: tags (!) are not supported"),
                Arguments.of("<<: {a: 1}\n", "f.yaml:1: ['<<']: merge keys are not supported"),
                Arguments.of("? [a]\n: 1\n", "f.yaml:1: a key must be a single value"),
                Arguments.of("'': 1\n", "f.yaml:1: ['']: a key must not be empty"),
                Arguments.of("a: 1\n---\nb: 1\n", "f.yaml:3: must be a single document; a second one starts here"),
                Arguments.of("a: \"\\ud800\"\n", "f.yaml:1: a: contains an unpaired surrogate"),
                Arguments.of("\"\\udc00\": 1\n", "f.yaml:1: ['\\udc00']: contains an unpaired surrogate"),
                Arguments.of("a: 1\nb: \u0007\n", "f.yaml:2: contains a character that YAML does not allow: U+0007"),
                Arguments.of(
                        "a: 1\n b: 2\n",
                        "f.yaml:2: is not valid YAML: unexpected ':'; check the indentation, or put the value in quotes (column 3)"),
                Arguments.of(
                        "a:\n\tb: 1\n",
                        "f.yaml:2: is not valid YAML: a tab cannot be used here; indent with spaces (column 1)"),
                Arguments.of("a:\n  - b\n - c\n", WRONG_INDENTATION.formatted(3, 2)),
                Arguments.of("a:\n   b: 1\n  c: 2\n", WRONG_INDENTATION.formatted(3, 3)),
                Arguments.of("- a\nb: 1\n", WRONG_INDENTATION.formatted(2, 1)),
                Arguments.of("a: 1\n- b\n", WRONG_INDENTATION.formatted(2, 1)),
                Arguments.of(
                        "- a: 1\n   b: 2\n",
                        "f.yaml:2: is not valid YAML: unexpected ':'; check the indentation, or put the value in quotes (column 5)"),
                Arguments.of(
                        "a: \"b\" c\n",
                        "f.yaml:1: is not valid YAML: unexpected text; put a value that contains special characters in quotes (column 8)"),
                Arguments.of(
                        "a: - b\n",
                        "f.yaml:1: is not valid YAML: unexpected '-'; begin the list on the next line (column 4)"),
                Arguments.of(
                        "a: 1\nb\nc: 2\n",
                        "f.yaml:3: is not valid YAML: a key without ':' before this place; check the indentation, or add ': ' after the key (column 1)"),
                Arguments.of(
                        "a: \"b\n",
                        "f.yaml:2: is not valid YAML: a quoted text is not closed; add the quote (column 1)"),
                Arguments.of(
                        "a: @b\n",
                        "f.yaml:1: is not valid YAML: found character '@' that cannot start any token. (Do not use @ for indentation) (column 4)"),
                Arguments.of("a: 1\nb: \"\\u", "f.yaml:2: is not valid YAML: an escape in a quoted text is incomplete"),
                Arguments.of(
                        "- a: \"b\n\" \"c\"\n",
                        "f.yaml:2: is not valid YAML: A simple key is required only if it is the first token in the"
                                + " current line"),
                Arguments.of(
                        "{\"a\": [1, 2}\n",
                        "f.yaml:1: is not valid YAML: expected ',' or ']'; close the bracket, or separate the values by"
                                + " commas (column 12)"));
    }

    @ParameterizedTest
    @MethodSource("structuralFaults")
    void reports_faults_of_the_document(String text, String line) {
        YamlTree.read(text, faults);

        assertThat(lines()).containsExactly(line);
    }

    @Test
    void an_unreadable_document_is_absent() {
        assertThat(YamlTree.read("a: [", faults).isPresent()).isFalse();
        assertThat(lines()).hasSize(1);
    }

    @Test
    void a_faulty_value_is_reported_once() {
        YamlTree tree = YamlTree.read("a: *x", faults);

        assertThat(tree.require("a").text()).isNull();
        assertThat(lines()).containsExactly("f.yaml:1: a: aliases (*) are not supported");
    }

    @Test
    void json_is_read_as_json() {
        YamlTree tree = YamlTree.read(
                "\uFEFF{\n\t\"path\":\t\"\\/a\\/**\",\n\t\"face\": \"\\ud83d\\ude00\",\n\t\"list\":[1,true,null],\"sep\":\"\u2028\"\n}",
                faults);

        assertThat(tree.get("path").text()).isEqualTo("/a/**");
        assertThat(tree.get("face").text()).isEqualTo("\uD83D\uDE00");
        assertThat(tree.get("sep").text()).isEqualTo("\u2028");
        assertThat(tree.get("list").items().get(0).wholeNumber(0, 9)).isEqualTo(1);
        assertThat(tree.get("list").items().get(1).flag()).isTrue();
        assertThat(tree.get("list").items().get(2).isEmpty()).isTrue();
        assertThat(tree.get("face").line()).isEqualTo(3);
        assertThat(lines()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"\n", "\r\n"})
    void lines_are_those_of_the_key(String newline) {
        YamlTree tree = YamlTree.read(String.join(newline, "# c", "a:", "", "  b: |", "    x", "c:", "- d"), faults);

        assertThat(tree.get("a").line()).isEqualTo(2);
        assertThat(tree.get("a").get("b").line()).isEqualTo(4);
        assertThat(tree.get("c").items().get(0).line()).isEqualTo(7);
    }

    @Test
    void a_path_leads_to_the_value() {
        YamlTree tree = YamlTree.read("a:\n- b.c: {'x y': [1, {\"\\n\": 2}]}", faults);
        YamlTree xs = tree.get("a").items().get(0).get("b.c").get("x y");

        assertThat(tree.path()).isEmpty();
        assertThat(xs.items().get(0).path()).isEqualTo("a[0].b.c['x y'][0]");
        xs.items().get(1).get("\n").fault("bad");
        assertThat(lines()).containsExactly("f.yaml:2: a[0].b.c['x y'][1]['\\u000a']: bad");
    }

    @Test
    void a_fault_is_one_line_of_bounded_length() {
        YamlTree.read("a: \"" + "x\\n".repeat(100_000) + "\"", faults).get("a").flag();
        YamlTree.read("{\"" + "y\\t".repeat(10_000) + "\": 1}", faults)
                .fields()
                .values()
                .iterator()
                .next()
                .fault("bad");

        assertThat(lines())
                .hasSize(2)
                .allSatisfy(line -> assertThat(line).hasSizeLessThan(800).matches("f\\.yaml:1: \\P{Cntrl}+"));
    }

    @Test
    void at_most_a_thousand_faults_are_reported() {
        YamlTree.read("a: 1\n".repeat(2001), faults);

        assertThat(lines())
                .hasSize(1001)
                .startsWith("f.yaml:2: a: duplicate key; the first is on line 1")
                .endsWith("f.yaml:1001: a: duplicate key; the first is on line 1", "f.yaml:1001: and 1000 more faults");
    }

    static Stream<Arguments> hostileDocuments() {
        String tooDeep = "is nested more than 32 levels deep";
        return Stream.of(
                Arguments.of("[".repeat(1_000_000), tooDeep),
                Arguments.of("{\"a\":".repeat(100_000), tooDeep),
                Arguments.of("[".repeat(33) + "]".repeat(33), tooDeep),
                Arguments.of("- ".repeat(500_000), tooDeep),
                Arguments.of("? ".repeat(500_000), "a key must be a single value"),
                Arguments.of("a".repeat(1 << 20) + "a", "has a line with more than 1048576 characters"),
                Arguments.of(" ".repeat((16 << 20) + 1), "has more than 16777216 characters"),
                Arguments.of("[" + "1,".repeat(5_000_001) + "1]", "has more than 5000000 values"));
    }

    @ParameterizedTest
    @MethodSource("hostileDocuments")
    void a_hostile_document_is_one_fault(String text, String message) {
        YamlTree.read(text, faults);

        assertThat(lines()).singleElement().asString().endsWith(message);
    }

    @Test
    void depth_is_counted_not_summed() {
        YamlTree.read("[".repeat(32) + "]".repeat(32), faults);
        YamlTree.read("[" + "[],".repeat(100) + "[]]", faults);

        assertThat(lines()).isEmpty();
    }

    @Test
    void an_alias_bomb_is_rejected() {
        StringBuilder bomb = new StringBuilder("a0: &a0 [x, x]\n");
        for (int i = 1; i <= 20; i++) {
            bomb.append("a%d: &a%d [*a%d, *a%d]%n".formatted(i, i, i - 1, i - 1));
        }
        YamlTree.read(bomb.toString(), faults);

        assertThat(lines())
                .hasSize(21 + 40)
                .startsWith(
                        "f.yaml:1: a0: anchors (&) are not supported",
                        "f.yaml:2: a1: anchors (&) are not supported",
                        "f.yaml:2: a1[0]: aliases (*) are not supported");
    }

    @Test
    void reads_a_file() throws IOException {
        Path file = directory.resolve("a.yaml");
        Files.writeString(file, "a: é");

        assertThat(YamlTree.read(file, faults).get("a").text()).isEqualTo("é");
        assertThat(lines()).isEmpty();
    }

    @Test
    void a_file_is_utf_8() throws IOException {
        Path file = directory.resolve("a.yaml");
        Files.write(file, "a: 1\nb: é\n".getBytes(StandardCharsets.ISO_8859_1));

        assertThat(YamlTree.read(file, faults).isPresent()).isFalse();
        assertThat(lines()).containsExactly("f.yaml:2: is not valid UTF-8");
    }

    @Test
    void a_file_that_ends_within_a_character_is_not_utf_8() throws IOException {
        Path file = directory.resolve("a.yaml");
        Files.write(file, new byte[] {'a', (byte) 0xC3});

        YamlTree.read(file, faults);
        assertThat(lines()).containsExactly("f.yaml:1: is not valid UTF-8");
    }

    @Test
    void a_file_is_not_too_large() throws IOException {
        Path file = directory.resolve("a.yaml");
        Files.write(file, new byte[(16 << 20) + 1]);

        YamlTree.read(file, faults);
        assertThat(lines()).containsExactly("f.yaml:1: has more than 16777216 bytes");
    }

    @Test
    void a_file_that_is_missing_is_an_io_error() {
        assertThatThrownBy(() -> YamlTree.read(directory.resolve("none.yaml"), faults))
                .isInstanceOf(NoSuchFileException.class);
    }

    private List<String> lines() {
        return linesOf(faults);
    }

    static List<String> linesOf(Faults faults) {
        try {
            faults.throwIfAny();
            return List.of();
        } catch (FaultsException e) {
            assertThat(e.getMessage())
                    .isEqualTo(String.join(
                            "\n", e.faults().stream().map(Fault::toString).toList()));
            assertThat(e.getStackTrace()).isEmpty();
            return e.faults().stream().map(Fault::toString).toList();
        }
    }
}
