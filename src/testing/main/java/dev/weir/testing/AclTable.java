package dev.weir.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
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

    private static final Pattern ROW = Pattern.compile(
            "\\| ([a-z]+) \\| ([a-z-]+) \\| `([^`]+)` \\| (literal|prefixed) \\| `([A-Z_]+)` \\| `?([^|`]+)`? \\| ([^|]+) \\|");

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

    public static List<Line> read() throws IOException {
        return ROW.matcher(Files.readString(PAGE)).results().map(AclTable::line).toList();
    }

    /** Returns the name of an operation in commands, such as {@code DescribeConfigs}. */
    public static String nameInCommands(AclOperation operation) {
        return Stream.of(operation.name().split("_"))
                .map(word -> word.charAt(0) + word.substring(1).toLowerCase(Locale.ROOT))
                .collect(Collectors.joining());
    }

    private static Line line(MatchResult row) {
        ResourceType type =
                ResourceType.valueOf(row.group(2).toUpperCase(Locale.ROOT).replace('-', '_'));
        PatternType pattern = PatternType.valueOf(row.group(4).toUpperCase(Locale.ROOT));
        return new Line(
                row.group(1),
                new ResourcePattern(type, row.group(3), pattern),
                AclOperation.valueOf(row.group(5)),
                row.group(6),
                row.group(7));
    }
}
