package dev.weir.backtest;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.NdjsonLines;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each recipe of the cookbook decides requests as its table says. */
class CookbookTest {

    private static final Pattern RECIPE =
            Pattern.compile("## ([^\n]+)\n(?:(?!\n## ).)*?```yaml\n(.*?)```\n\n```text\n(.*?)```", Pattern.DOTALL);
    private static final Pattern ROW = Pattern.compile("(\\d\\S*) {2,}(.*?) +-> (.*)");
    private static final String DAY = "2026-11-02T";
    private static final Set<String> FIELDS =
            Set.of("requestId", "client", "tier", "cost", "sizeBytes", "kind", "policyId", "reserve", "settles");
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The expected decision on one request. */
    private record Row(String at, Map<String, String> request, String outcome, Map<String, String> fields) {}

    /** A policy file and the table of its decisions. */
    record Recipe(String title, String policies, String table) {
        @Override
        public String toString() {
            return title;
        }
    }

    static List<Recipe> recipes() throws IOException {
        List<Recipe> recipes = new ArrayList<>();
        Matcher matcher = RECIPE.matcher(Files.readString(Path.of("topology-docs", "how-to", "cookbook.md")));
        while (matcher.find()) {
            recipes.add(new Recipe(matcher.group(1), matcher.group(2), matcher.group(3)));
        }
        return recipes;
    }

    @Test
    void every_section_is_a_recipe() throws IOException {
        String page = Files.readString(Path.of("topology-docs", "how-to", "cookbook.md"));
        assertThat(recipes())
                .extracting(Recipe::title)
                .containsExactlyElementsOf(page.lines()
                        .filter(line -> line.startsWith("## "))
                        .map(line -> line.substring(3))
                        .toList());
    }

    @ParameterizedTest
    @MethodSource("recipes")
    void a_recipe_decides_as_its_table_shows(Recipe recipe) throws Exception {
        List<Row> rows = rows(recipe.table);
        assertThat(rows).hasSize((int) recipe.table.lines().count()).isNotEmpty();
        StringWriter decisions = new StringWriter();
        try (DecisionJson json = new DecisionJson(decisions)) {
            new Backtest(PolicyFile.read(recipe.title, recipe.policies), WeirConfig.DEFAULTS, Clock.systemUTC())
                    .run(requests(rows), json, null);
        }
        List<String> lines = decisions.toString().lines().toList();
        for (int i = 0; i < rows.size(); i++) {
            JsonNode decision = JSON.readTree(lines.get(i));
            Row row = rows.get(i);
            assertThat(decision.get("outcome").asText()).as("row %d", i + 1).isEqualTo(row.outcome);
            row.fields.forEach((field, value) -> {
                assertThat(decision.has(field)).as(field).isTrue();
                assertThat(decision.get(field).asText().replace(' ', '_'))
                        .as("%s of %s", field, decision)
                        .isEqualTo(value);
            });
        }
    }

    private static List<Row> rows(String table) {
        List<Row> rows = new ArrayList<>();
        Matcher matcher = ROW.matcher(table);
        while (matcher.find()) {
            String answer = matcher.group(3) + " ";
            int end = answer.indexOf(' ');
            rows.add(new Row(
                    matcher.group(1),
                    pairs(matcher.group(2)),
                    answer.substring(0, end),
                    pairs(answer.substring(end).strip())));
        }
        return rows;
    }

    private static Map<String, String> pairs(String text) {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (String pair : text.isEmpty() ? new String[0] : text.split(" ")) {
            String[] parts = pair.split("=", 2);
            pairs.put(parts[0], parts[1]);
        }
        return pairs;
    }

    private static NdjsonLines requests(List<Row> rows) {
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < rows.size(); i++) {
            ObjectNode request = JSON.createObjectNode().put("requestId", "r" + i);
            String at = rows.get(i).at;
            request.put(
                    "timestamp",
                    Instant.parse(at.contains("T") ? at : DAY + at + "Z").toEpochMilli());
            ObjectNode attributes = request.putObject("attributes");
            rows.get(i).request.forEach((field, value) -> {
                boolean number = field.equals("cost") || field.equals("sizeBytes");
                if (number) {
                    request.put(field, Long.parseLong(value));
                } else if (field.equals("limitOverride")) {
                    request.putRawValue(field, new RawValue(value));
                } else {
                    (FIELDS.contains(field) ? request : attributes).put(field, value);
                }
            });
            lines.append(request).append('\n');
        }
        return new NdjsonLines(
                "cookbook", new ByteArrayInputStream(lines.toString().getBytes(StandardCharsets.UTF_8)));
    }
}
