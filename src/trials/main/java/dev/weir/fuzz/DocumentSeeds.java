package dev.weir.fuzz;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The policy files and configurations in the documentation, and policy files with every key. */
final class DocumentSeeds {

    private static final Pattern BLOCK = Pattern.compile("```yaml\n(.*?)```", Pattern.DOTALL);
    private static final List<Path> PAGES = List.of(
            Path.of("topology-docs", "how-to", "cookbook.md"),
            Path.of("topology-docs", "how-to", "secure.md"),
            Path.of("topology-docs", "reference", "configuration.md"),
            Path.of("topology-docs", "reference", "policies.md"));

    private static final String EVERYTHING = """
            {"policies": [{"id": "p", "layer": "l", "priority": -3, "match": {"client": ["a*", "b\\\\*"], "x/y": "**/z?"},
             "key": ["client", "x/y"], "max-size": "64KiB", "on-exceed": "throttle", "max-delay": "2s", "idempotency": "10m",
             "effective-from": "2026-12-01T00:00:00+01:00", "limits": [
              {"algorithm": "fixed-window", "limit": 5, "per": "1 month", "timezone": "Europe/Berlin"},
              {"algorithm": "sliding-window-log", "limit": 2, "per": "1m", "count-denied": true},
              {"algorithm": "sliding-window-counter", "limit": 7, "per": "11s", "strict": true},
              {"algorithm": "token-bucket", "limit": 7, "per": "11s", "burst": 20, "refill": "interval"},
              {"algorithm": "leaky-bucket", "limit": 1000000, "per": "1s"},
              {"algorithm": "gcra", "limit": 9007199254740991, "per": "1d", "burst": 1},
              {"unlimited": true}, {"algorithm": "gcra", "limit": 0}]},
              {"id": "slots", "limits": [{"algorithm": "concurrency", "limit": 10, "ttl": "60s"}]}],
             "queues": [{"id": "q", "limit": 10, "per": "1s", "burst": 3, "capacity": 5, "max-wait": "30s", "look-ahead": "0s",
              "fair-by": "tenant",
              "tiers": {"gold": {"priority": 1, "weight": 4}, "free": {"weight": 1000}}},
              {"id": "slots", "max-in-flight": 2, "ack-timeout": "1m", "max-duration": "2h", "max-attempts": 3,
               "retry-backoff": "0s", "max-in-flight-per-client": 1, "tiers": {"gold": {"max-in-flight": 2}}}]}
            """;

    private DocumentSeeds() {}

    static List<String> policyFiles() throws IOException {
        List<String> files = new ArrayList<>(blocks("policies:"));
        files.add(EVERYTHING);
        files.add(EVERYTHING.replaceAll("\"([a-z/-]+)\":", "$1:"));
        return files;
    }

    static List<String> configFiles() throws IOException {
        return blocks("application-id:");
    }

    private static List<String> blocks(String word) throws IOException {
        List<String> blocks = new ArrayList<>();
        for (Path page : PAGES) {
            Matcher matcher = BLOCK.matcher(Files.readString(page));
            while (matcher.find()) {
                if (matcher.group(1).contains(word)) {
                    blocks.add(matcher.group(1));
                }
            }
        }
        return blocks;
    }
}
