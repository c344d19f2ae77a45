package dev.weir.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The PromQL expressions of a file: the values of {@code expr}, and of {@code label_values}. */
public record Queries(List<String> all) {

    private static final Pattern METRIC =
            Pattern.compile("\\b((?:weir|jvm|process|system|up)(?:_[a-z0-9_]+)?)\\b(\\{[^}]*})?");
    private static final Pattern MATCHER = Pattern.compile("([a-z_]+) *(?:=~|!=|!~|=)");
    private static final Pattern OF_WEIR = Pattern.compile("\\b(weir_[a-z0-9_]+)\\{([^}]*)}");
    private static final Pattern VALUE = Pattern.compile("([a-z_]+)(=~?)\"([^\"$]*)\"");
    private static final Pattern GROUPING = Pattern.compile("by \\(([^)]*)\\)");

    /** The labels that Prometheus adds. */
    private static final Set<String> ADDED = Set.of("instance", "job");

    private static final String UP = "up";

    /** Reads a YAML or JSON file; JSON is a subset of YAML. */
    public static Queries of(Path file) throws IOException {
        return of(read(file));
    }

    /** Reads the rules of one group of a YAML file with groups of rules. */
    public static Queries ofGroup(Path file, String name) throws IOException {
        for (JsonNode group : read(file).get("groups")) {
            if (group.get("name").asText().equals(name)) {
                return of(group);
            }
        }
        throw new AssertionError(file + " has no group " + name);
    }

    private static JsonNode read(Path file) throws IOException {
        return new ObjectMapper(new YAMLFactory()).readTree(file.toFile());
    }

    private static Queries of(JsonNode tree) {
        List<String> found = new ArrayList<>();
        tree.findValues("expr").forEach(expression -> found.add(expression.asText()));
        tree.findValues("query").stream()
                .filter(query -> query.asText().startsWith("label_values("))
                .forEach(query -> found.add(query.asText()));
        return new Queries(found);
    }

    /** Returns the metrics, labels and label values in the expressions that do not exist. */
    public List<String> faults(Scrape scrape) {
        List<String> faults = new ArrayList<>();
        for (String query : all) {
            Set<String> labels = new HashSet<>(ADDED);
            Matcher metrics = METRIC.matcher(query.replaceAll("\"[^\"]*\"", "\"\""));
            for (MatchResult metric : metrics.results().toList()) {
                String name = metric.group(1);
                Set<String> own = new HashSet<>(scrape.labels(name));
                own.addAll(ADDED);
                labels.addAll(own);
                if (!name.equals(UP) && scrape.lines(name).isEmpty()) {
                    faults.add("there is no " + name + ": " + query);
                }
                if (metric.group(2) != null) {
                    MATCHER.matcher(metric.group(2))
                            .results()
                            .map(label -> label.group(1))
                            .filter(label -> !own.contains(label))
                            .forEach(label -> faults.add(name + " has no " + label + ": " + query));
                }
            }
            GROUPING.matcher(query)
                    .results()
                    .flatMap(by -> Arrays.stream(by.group(1).split(", ")))
                    .filter(label -> !labels.contains(label))
                    .forEach(label -> faults.add("nothing has " + label + ": " + query));
            OF_WEIR.matcher(query).results().forEach(metric -> VALUE.matcher(metric.group(2))
                    .results()
                    .filter(value -> scrape.labels(metric.group(1)).contains(value.group(1)))
                    .flatMap(value -> unheard(scrape, metric.group(1), value))
                    .forEach(value -> faults.add(metric.group(1) + " never is " + value + ": " + query)));
        }
        return faults;
    }

    /** Returns the alternatives of a label's value that no metric has. */
    private static Stream<String> unheard(Scrape scrape, String name, MatchResult value) {
        String[] alternatives = value.group(2).equals("=")
                ? new String[] {value.group(3)}
                : value.group(3).split("\\|", -1);
        return Arrays.stream(alternatives)
                .map(one -> value.group(1) + "=\"" + one + "\"")
                .filter(one -> scrape.lines(name).stream().noneMatch(line -> line.contains(one)));
    }
}
