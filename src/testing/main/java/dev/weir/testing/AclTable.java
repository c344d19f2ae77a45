package dev.weir.testing;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** The table of permissions in the documentation on security: what each role needs. */
public final class AclTable {

    public static final Path PAGE = Path.of("topology-docs", "how-to", "secure.md");

    private static final String FAILURES = "missing-permissions.txt";

    /** A role, the resource, the pattern, operations and names. */
    private static final Pattern ROW =
            Pattern.compile("(?m)^([a-z]+) +([a-z-]+) +(literal|prefixed) +([A-Z_]+(?:,[A-Z_]+)*) +([^\n]+)$");

    /**
     * A permission of the user of a role.
     *
     * @param fails what fails without it
     * @param says the message of that failure
     */
    public record Line(String role, ResourcePattern resource, AclOperation operation, String fails, String says) {

        public AclBinding binding() {
            return bindingFor(role);
        }

        public AclBinding bindingFor(String user) {
            return new AclBinding(
                    resource, new AccessControlEntry("User:" + user, "*", operation, AclPermissionType.ALLOW));
        }

        @Override
        public String toString() {
            return role + " " + operation + " " + resource.resourceType() + " " + resource.name();
        }
    }

    private AclTable() {}

    /** Returns a line for each operation on each name of the table. */
    public static List<Line> read() throws IOException {
        Map<String, String[]> failures = failures();
        List<Line> lines = new ArrayList<>();
        for (MatchResult row : ROW.matcher(Files.readString(PAGE)).results().toList()) {
            for (String name : row.group(5).split(" ")) {
                for (String operation : row.group(4).split(",")) {
                    String key = String.join(" | ", row.group(1), row.group(2), name, operation);
                    String[] failure = failures.remove(key);
                    if (failure == null) {
                        throw new IllegalStateException(FAILURES + " lacks: " + key);
                    }
                    lines.add(line(row, name, AclOperation.valueOf(operation), failure));
                }
            }
        }
        if (!failures.isEmpty()) {
            throw new IllegalStateException(PAGE + " lacks: " + failures.keySet());
        }
        return lines;
    }

    /** Returns what fails without a permission, and the message of that failure. */
    private static Map<String, String[]> failures() throws IOException {
        Map<String, String[]> failures = new LinkedHashMap<>();
        try (InputStream resource = AclTable.class.getResourceAsStream(FAILURES)) {
            new String(resource.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .map(line -> line.split(" \\| "))
                    .forEach(cells ->
                            failures.put(String.join(" | ", Arrays.copyOf(cells, 4)), Arrays.copyOfRange(cells, 4, 6)));
        }
        return failures;
    }

    /** Returns the name of an operation in commands, such as {@code DescribeConfigs}. */
    public static String nameInCommands(AclOperation operation) {
        return Stream.of(operation.name().split("_"))
                .map(word -> word.charAt(0) + word.substring(1).toLowerCase(Locale.ROOT))
                .collect(Collectors.joining());
    }

    private static Line line(MatchResult row, String name, AclOperation operation, String[] failure) {
        ResourceType type =
                ResourceType.valueOf(row.group(2).toUpperCase(Locale.ROOT).replace('-', '_'));
        PatternType pattern = PatternType.valueOf(row.group(3).toUpperCase(Locale.ROOT));
        return new Line(row.group(1), new ResourcePattern(type, name, pattern), operation, failure[0], failure[1]);
    }
}
