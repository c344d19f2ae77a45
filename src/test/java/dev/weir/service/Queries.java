package dev.weir.service;

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

/** The PromQL of a file: whatever stands under {@code expr}, and in {@code label_values}. */
record Queries(List<String> all) {

    private static final Pattern METRIC =
            Pattern.compile("\\b((?:weir|jvm|process|system|up)(?:_[a-z0-9_]+)?)\\b(\\{[^}]*})?");
    private static final Pattern MATCHER = Pattern.compile("([a-z_]+) *(?:=~|!=|!~|=)");
    private static final Pattern GROUPING = Pattern.compile("by \\(([^)]*)\\)");

    /** What Prometheus itself puts on each figure. */
    private static final Set<String> ADDED = Set.of("instance", "job");

    private static final String UP = "up";

    /** JSON is YAML. */
    static Queries of(Path file) throws IOException {
        List<String> found = new ArrayList<>();
        JsonNode tree = new ObjectMapper(new YAMLFactory()).readTree(file.toFile());
        tree.findValues("expr").forEach(expression -> found.add(expression.asText()));
        tree.findValues("query").stream()
                .filter(query -> query.asText().startsWith("label_values("))
                .forEach(query -> found.add(query.asText()));
        return new Queries(found);
    }

    /** What they ask for that is not there. */
    List<String> faults(Scrape scrape) {
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
        }
        return faults;
    }
}
