package dev.weir.gateway;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.weir.http.PathRules;
import dev.weir.http.PathRules.DoubleSlash;
import dev.weir.http.PathRules.EncodedSlash;
import dev.weir.policy.Glob;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Each spelling of a path that a real server serves like a limited path must match the policy of that path, or be
 * refused. Servers whose programs are not installed are skipped.
 */
@Tag("full")
class OriginSpellingsTest {

    /** Every part of a path in the spellings that some server decodes, removes, resolves or ignores. */
    private static final List<String> SPELLINGS = spellings();

    /** Those with a slash at the end are for Express only, which ignores it. */
    private static final Map<String, List<Glob>> PATTERNS = Map.of(
            "login", List.of(new Glob("/login"), new Glob("/login/")),
            "one", List.of(new Glob("/pay/*"), new Glob("/pay/*/")),
            "any", List.of(new Glob("/pay/**")));

    @TempDir
    Path directory;

    private static List<String> spellings() {
        List<String> login = List.of("/login", "/%6Cogin", "/lo%67in", "/LOGIN", "/l%4Fgin");
        List<String> pay = List.of("/pay/x", "/%70ay/x", "/PAY/x", "/pay%2Fx", "/pay%2fx", "/pay%5Cx", "/pay\\x");
        List<String> before = List.of(
                "",
                "/",
                "/.",
                "/a/..",
                "/%2e",
                "/a/%2e%2e",
                "/a%2f..",
                "/a/..;",
                "/.;",
                "/;",
                "/;v=1",
                "/%2f",
                "/\\",
                "/a\\..",
                "//host",
                "http://host",
                "/pay/..",
                "/%5c",
                "/a%5c..");
        List<String> behind = List.of(
                "",
                "/",
                "//",
                "/.",
                "/..",
                ";v=1",
                "/;v=1",
                "%3Bv=1",
                "#a",
                "#/../b",
                "?a=/../b",
                "%00",
                "%0a",
                "%20",
                ".",
                ".%20.",
                "%2f",
                "%2F..",
                "/../../free",
                "/%2e%2e/%2E%2e/free",
                "%2f..%2f..%2ffree",
                "\\..\\..\\free",
                "%5c..%5c..%5cfree",
                "/..;/..;/free",
                "/..;/free",
                "%252f",
                "/a%2Fb",
                "/a%5Cb",
                "/;/b",
                "/%E9",
                "/%C3%A9");
        List<String> all = new ArrayList<>(List.of(
                "/pay/",
                "/pay",
                "/pay/%zz",
                "/%u0070ay/x",
                "/%2570ay/x",
                "/%c0%afpay/x",
                "/free/../pay/a/../x",
                "/pay/../free/x",
                "/pay/%2e%2e/free/x",
                "/pay/..%2ffree/x",
                "/pay/..;/free/x"));
        for (String path : Stream.concat(login.stream(), pay.stream()).toList()) {
            before.forEach(start -> all.add(start + path));
            behind.forEach(end -> all.add(path + end));
        }
        return all;
    }

    private static Optional<String> route(String response) {
        return PATTERNS.keySet().stream()
                .filter(name -> response.startsWith("HTTP/1.1 200") && response.endsWith("served " + name))
                .findAny();
    }

    private static boolean isRefusedOrMatches(String target, String route, PathRules rules, boolean ignoresLastSlash) {
        try {
            String path = ProxiedRequest.of("GET", target, "origin", rules, () -> "::1", name -> List.of())
                    .path();
            List<Glob> globs = PATTERNS.get(route);
            return globs.subList(0, ignoresLastSlash ? globs.size() : 1).stream()
                    .anyMatch(glob -> glob.matches(path));
        } catch (InvalidCallException e) {
            return true;
        }
    }

    /** The settings are those of the table in {@code proxies.md}. */
    @ParameterizedTest
    @CsvSource(textBlock = """
            flask    , REJECT , MERGE  , false
            flask    , DECODE , MERGE  , false
            node     , REJECT , MERGE  , false
            node     , KEEP   , MERGE  , false
            node-url , REJECT , REJECT , false
            node-url , KEEP   , REJECT , false
            express  , REJECT , MERGE  , true
            express  , KEEP   , MERGE  , true
            go       , REJECT , MERGE  , false
            go       , DECODE , MERGE  , false
            nginx    , REJECT , MERGE  , false
            nginx    , DECODE , MERGE  , false
            caddy    , REJECT , MERGE  , true
            caddy    , DECODE , MERGE  , true
            """)
    void no_spelling_avoids_the_policy_of_a_path(String name, EncodedSlash encoded, DoubleSlash doubled, boolean fold)
            throws Exception {
        PathRules rules = new PathRules(encoded, doubled, fold);
        Optional<OriginProcess> found = OriginProcess.of(name, directory);
        assumeTrue(found.isPresent(), name + " is not installed");
        try (OriginProcess origin = found.get()) {
            origin.start();
            await(name + " listens", SharedWeir.PATIENCE, () -> {
                origin.checkAlive();
                try {
                    return origin.get("/login").endsWith("served login");
                } catch (IOException e) {
                    return false;
                }
            });
            List<String> avoided = new ArrayList<>();
            int served = 0;
            for (String target : SPELLINGS) {
                Optional<String> route = route(origin.get(target));
                served += route.isPresent() ? 1 : 0;
                if (route.isPresent() && !isRefusedOrMatches(target, route.get(), rules, name.equals("express"))) {
                    avoided.add(target + " is served as " + route.get());
                }
            }
            assertThat(avoided).isEmpty();
            assertThat(served).isGreaterThan(10);
        }
    }
}
