package dev.weir.api;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.RequestBody;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Formats, errors and the health of the service, whatever the endpoint. */
@Tag("slow")
class WeirServiceTest extends ServiceFixture {

    @Test
    void a_running_enforcer_is_ready() throws IOException {
        service.setHealth(enforcer::health, enforcer::missing);
        await(
                "/v1/decide is connected",
                PATIENCE,
                () -> caller.get("/health/ready").status() == 200);
        for (String path : List.of("/health/live", "/health/ready")) {
            assertThat(caller.get(path).text()).isEqualTo("{\"status\":\"RUNNING\"}");
        }
    }

    @Test
    void yaml_is_accepted_and_returned() throws IOException {
        String definition = """
                match:
                  tier: "no"
                  country: [NO, "1.10", 'null', "~"]
                limits:
                - {algorithm: gcra, limit: 1_000, per: 1m}
                """;
        for (String type : List.of("application/yaml", "text/yaml", "application/x-yaml; charset=UTF-8")) {
            assertThat(trusted.send("PUT", "/v1/policies/yaml", definition, "Content-Type: " + type)
                            .status())
                    .as(type)
                    .isIn(201, 428);
        }
        Reply yaml = caller.get("/v1/policies/yaml", "Accept: application/json;q=0.5, text/yaml");
        assertThat(yaml.contentType()).isEqualTo("application/yaml");
        JsonNode back = ApiDocument.YAML.readTree(yaml.text());
        assertThat(back).isEqualTo(caller.get("/v1/policies/yaml").json());
        String written = ApiDocument.YAML.writeValueAsString(back.get("definition"));
        assertThat(trusted.send("PUT", "/v1/policies/yaml", written, ANY, YAML).header("ETag"))
                .isEqualTo("\"1\""); // the definition is unchanged
        assertThat(trusted.send("PUT", "/v1/policies/yaml2", definition, YAML, "Accept: text/yaml")
                        .contentType())
                .isEqualTo("application/yaml");
    }

    @Test
    void the_format_is_negotiated() throws IOException {
        for (String accept :
                List.of("*/*", "application/*", "text/html, */*;q=0.1", "application/json, text/yaml;q=0.9")) {
            assertThat(caller.get("/v1/policies", "Accept: " + accept).contentType())
                    .as(accept)
                    .isEqualTo("application/json");
        }
        for (String accept :
                List.of("text/yaml", "application/json;q=0, */*", "application/x-yaml, application/json;q=.2")) {
            assertThat(caller.get("/v1/policies", "Accept: " + accept).contentType())
                    .as(accept)
                    .isEqualTo("application/yaml");
        }
        for (String accept : List.of("text/html", "application/json;q=0", "x")) {
            assertThat(caller.get("/v1/policies", "Accept: " + accept).status())
                    .as(accept)
                    .isEqualTo(406);
        }
        assertThat(trusted.put("/v1/policies/refused", body(1), "Accept: text/html")
                        .status())
                .isEqualTo(406);
        assertThat(caller.get("/v1/policies/refused").status()).isEqualTo(404);
        for (String type : List.of("text/plain", "application/json; charset=latin1", "x")) {
            assertThat(trusted.put("/v1/policies/refused", body(1), "Content-Type: " + type)
                            .status())
                    .as(type)
                    .isEqualTo(415);
        }
        assertThat(trusted.send("PUT", "/v1/policies/refused", body(1)).status())
                .isEqualTo(415);
    }

    @Test
    void a_body_is_bounded_with_any_framing() throws IOException {
        byte[] large =
                ("{" + LIMITS.formatted(1) + "}" + " ".repeat(RequestBody.MAX_BYTES)).getBytes(StandardCharsets.UTF_8);
        String length = "Content-Length: " + large.length;
        assertThat(trusted.raw("PUT", "/v1/policies/large", large, length, JSON).status())
                .isEqualTo(413);
        assertThat(trusted.raw("PUT", "/v1/policies/large", new byte[0], "Content-Length: 99999999999", JSON)
                        .status())
                .isEqualTo(413); // before the body is read
        assertThat(trusted.raw("PUT", "/v1/policies/large", chunked(large), "Transfer-Encoding: chunked", JSON)
                        .status())
                .isEqualTo(413);
        byte[] small = body(1).getBytes(StandardCharsets.UTF_8);
        assertThat(trusted.raw("PUT", "/v1/policies/small", chunked(small), "Transfer-Encoding: chunked", JSON)
                        .status())
                .isEqualTo(201);
        byte[] broken = "5\r\n{\r\n\r\nno chunk\r\n".getBytes(StandardCharsets.UTF_8);
        assertThat(trusted.raw("PUT", "/v1/policies/large", broken, "Transfer-Encoding: chunked", JSON)
                        .status())
                .isEqualTo(400);
        byte[] latin1 = {'{', (byte) 0xE4, '}'};
        assertThat(trusted.raw("PUT", "/v1/policies/large", latin1, "Content-Length: 3", JSON)
                        .status())
                .isEqualTo(400);
    }

    @Test
    void errors_are_problem_details() throws IOException {
        assertThat(caller.get("/v1").status()).isEqualTo(404);
        assertThat(caller.get("/v2/policies").status()).isEqualTo(404);
        assertThat(caller.get("/v1/policies/a/b/c").status()).isEqualTo(404);
        assertThat(caller.get("/v1/queues/").status()).isEqualTo(404);
        assertThat(caller.post("/v1/policies", "{}").header("Allow")).isEqualTo("GET, HEAD");
        assertThat(caller.send("PATCH", "/v1/policies/a", "").header("Allow")).isEqualTo("DELETE, GET, HEAD, PUT");
        assertThat(caller.send("OPTIONS", "/v1/peek", "").status()).isEqualTo(405);
        Reply head = caller.send("HEAD", "/v1/policies", "");
        assertThat(head.contentType()).isEqualTo("application/json");
    }

    @Test
    void the_live_page_loads_only_its_own_files() throws IOException {
        assertThat(caller.get("/").header("Location")).isEqualTo("/live");
        for (String path : List.of("/live", "/live/weir.css", "/live/app.js", "/live/chart.js")) {
            Reply file = caller.get(path);
            assertThat(file.status()).as(path).isEqualTo(200);
            assertThat(file.header("Content-Security-Policy")).startsWith("default-src 'self';");
        }
        for (String path : List.of("/live/none.js", "/live/openapi.yaml", "/live/..%2fopenapi.yaml", "/live/app.js/")) {
            assertThat(caller.get(path).status()).as(path).isIn(400, 404);
        }
    }

    @Test
    void quoted_input_is_one_line_of_bounded_length() throws IOException {
        String cancel = "{\"requestId\":\"r\",\"client\":\"alice\",\"kind\":\"CANCEL\",\"queue\":\"%s\"}"
                .formatted("a\\n".repeat(100_000));
        for (Reply reply : List.of(caller.post("/v1/peek", cancel), caller.get("/v1/policies?a%0Ab=1"))) {
            assertThat(reply.status()).isEqualTo(400);
            assertThat(reply.detail()).contains("a\\u000a").hasSizeLessThan(600);
        }
    }

    @Test
    void unexpected_errors_reveal_no_internals() throws IOException {
        here.check = request -> {
            throw new IllegalStateException("secret");
        };
        Reply failed = caller.post("/v1/peek", "{\"client\":\"alice\"}");
        assertThat(failed.status()).isEqualTo(500);
        assertThat(failed.text()).doesNotContain("secret", "Exception", "dev.weir");
    }

    @Test
    void malformed_http_is_a_problem() throws IOException {
        Reply garbage = caller.raw("GET", "/v1/policies", new byte[0], "Host: a b\r\nHost: c", "no colon");
        assertThat(garbage.status()).isEqualTo(400);
        assertThat(garbage.contentType()).isEqualTo(ProblemDetails.CONTENT_TYPE);
        Reply header = caller.get("/v1/policies", "X: " + "x".repeat(20_000));
        assertThat(header.status()).isEqualTo(431);
    }

    private static byte[] chunked(byte[] body) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int from = 0; from < body.length; from += 10_000) {
            int length = Math.min(10_000, body.length - from);
            out.write((Integer.toHexString(length) + "\r\n").getBytes(StandardCharsets.UTF_8));
            out.write(body, from, length);
            out.write("\r\n".getBytes(StandardCharsets.UTF_8));
        }
        out.write("0\r\n\r\n".getBytes(StandardCharsets.UTF_8));
        return out.toByteArray();
    }
}
