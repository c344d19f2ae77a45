package dev.weir.api;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The metrics of a response.
 *
 * @param byName the labels and values of each metric, by name
 */
public record Scrape(String text, Map<String, List<String>> byName) {

    private static final Pattern LINE = Pattern.compile("([a-z_0-9]+)((?:\\{.*})? \\S+)");
    private static final Pattern LABEL = Pattern.compile("([a-z_]+)=\"");

    public static Scrape of(String text) {
        Map<String, List<String>> byName = new TreeMap<>();
        for (String line : text.lines().filter(line -> !line.startsWith("#")).toList()) {
            Matcher parts = LINE.matcher(line);
            if (!parts.matches()) {
                throw new AssertionError(line);
            }
            byName.computeIfAbsent(parts.group(1), name -> new ArrayList<>())
                    .add(parts.group(2).strip());
        }
        return new Scrape(text, byName);
    }

    public List<String> lines(String name) {
        return byName.getOrDefault(name, List.of());
    }

    public double sum(String name) {
        return lines(name).stream()
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }

    /** Returns the names of a metric's labels. */
    public Set<String> labels(String name) {
        Set<String> labels = new HashSet<>();
        lines(name).forEach(line -> LABEL.matcher(line).results().forEach(label -> labels.add(label.group(1))));
        return labels;
    }
}
