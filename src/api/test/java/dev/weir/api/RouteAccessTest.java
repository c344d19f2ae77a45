package dev.weir.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.server.http.ServiceServer.Route;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Which token permits which route, as the documentation says, and which responses may be stored. */
class RouteAccessTest {

    private static final String CHANGE = "the-change-token-of-this-test";
    private static final String READ = "the-read-token-of-this-test";
    private static final String DECIDE = "the-decide-token-of-this-test";
    private static final Pattern METHOD = Pattern.compile("[A-Z]{3,}");

    private static WeirService service;
    private static HttpClient http;

    @BeforeAll
    static void start() {
        WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", "127.0.0.1:1").toBuilder()
                .service(WeirConfig.DEFAULTS.service().withPort(0).withHealthPort(0))
                .build();
        service = WeirService.open(
                config, Map.of("WEIR_TOKEN", CHANGE, "WEIR_READ_TOKEN", READ, "WEIR_DECIDE_TOKEN", DECIDE));
        http = HttpClient.newHttpClient();
    }

    @AfterAll
    static void stop() {
        service.close();
    }

    /** What a row of the table permits: without a token on loopback, and with the three tokens. */
    private record Row(boolean none, boolean decide, boolean read, boolean change) {}

    /** Returns the rows of the table of the documentation, by method and path. */
    private static Map<String, Row> documented() throws IOException {
        Map<String, Row> rows = new HashMap<>();
        for (String line : Files.readString(Path.of("topology-docs/reference/http.md"))
                .lines()
                .toList()) {
            String[] cells = line.split("\\|", -1);
            if (cells.length != 7 || !cells[1].contains("`/")) {
                continue;
            }
            List<Boolean> permits = new ArrayList<>();
            for (int i = 2; i < 6; i++) {
                assertThat(cells[i].strip()).as(line).isIn("yes", "no", "loopback", "`--dev`");
                permits.add(cells[i].strip().equals("yes") || cells[i].strip().equals("loopback"));
            }
            Row row = new Row(permits.get(0), permits.get(1), permits.get(2), permits.get(3));
            List<String> methods = new ArrayList<>();
            for (String part : cells[1].split("`", -1)) {
                Matcher names = METHOD.matcher(part);
                if (part.startsWith("/")) {
                    methods.forEach(method -> rows.put(method + " " + part, row));
                } else if (names.find()) {
                    methods.clear();
                    do {
                        methods.add(names.group());
                    } while (names.find());
                }
            }
        }
        return rows;
    }

    @Test
    void each_route_is_permitted_as_the_documentation_says() throws Exception {
        Map<String, Row> documented = documented();
        List<String> routes = new ArrayList<>();
        for (Route route : service.routes()) {
            String name = route.method() + " " + route.path();
            routes.add(name);
            Row row = documented.get(name);
            assertThat(row).as(name).isNotNull();
            assertThat(new Row(
                            isPermitted(route, null),
                            isPermitted(route, DECIDE),
                            isPermitted(route, READ),
                            isPermitted(route, CHANGE)))
                    .as(name)
                    .isEqualTo(row);
        }
        assertThat(documented.keySet()).as("documented routes").containsExactlyInAnyOrderElementsOf(routes);
    }

    private static boolean isPermitted(Route route, String token) throws Exception {
        int status = send(route, token).statusCode();
        return status != 401 && status != 403;
    }

    private static HttpResponse<Void> send(Route route, String token) throws Exception {
        String path = route.path().replaceAll("\\{[a-z]+}", "x");
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(service.url() + path))
                .method(route.method().name(), BodyPublishers.ofString("?"));
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        return http.send(request.build(), BodyHandlers.discarding());
    }

    /** The files of the live page contain no data. */
    @Test
    void only_the_live_page_may_be_stored() throws Exception {
        for (Route route : service.routes()) {
            boolean isPage = route.path().equals("/live");
            assertThat(send(route, CHANGE).headers().allValues("Cache-Control"))
                    .as(route.path())
                    .containsExactly(isPage ? "no-cache" : "no-store");
            assertThat(send(route, null).headers().allValues("Cache-Control"))
                    .as(route.path())
                    .containsExactly(isPage ? "no-cache" : "no-store");
        }
    }
}
