package dev.weir.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.config.WeirConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The endpoints that read and change policies and queues, with real definitions on a real broker. */
@Tag("slow")
class PolicyRoutesTest extends ServiceFixture {

    @Test
    void a_policy_is_added_read_changed_and_deleted_and_has_a_history() throws IOException {
        Reply added = trusted.put("/v1/policies/free", "{" + LIMITS.formatted(5) + "}");
        assertThat(added.status()).isEqualTo(201);
        assertThat(added.header("Location")).isEqualTo("/v1/policies/free");
        assertThat(added.header("ETag")).isEqualTo("\"1\"");
        assertThat(added.json().get("effect").asText()).isEqualTo("added");

        Reply read = caller.get("/v1/policies/free");
        assertThat(read.header("ETag")).isEqualTo("\"1\"");
        assertThat(read.json().get("definition").toString()).isEqualTo("{\"id\":\"free\"," + LIMITS.formatted(5) + "}");
        assertThat(caller.get("/v1/policies/free", "If-None-Match: \"7\", \"1\"")
                        .status())
                .isEqualTo(304);
        assertThat(caller.get("/v1/policies/free", "If-None-Match: \"7\"").status())
                .isEqualTo(200);

        Reply changed = trusted.put("/v1/policies/free", "{" + LIMITS.formatted(6) + "}", "If-Match: \"1\"");
        assertThat(changed.status()).isEqualTo(200);
        assertThat(changed.header("ETag")).isEqualTo("\"2\"");
        assertThat(changed.json().at("/before/limits/0/limit").asInt()).isEqualTo(5);
        assertThat(changed.json().at("/details/0").asText()).startsWith("limits[0].limit: 5 -> ");
        assertThat(changed.json().at("/details/1").asText()).contains("counts the current usage of");
        assertThat(added.json().at("/details")).isEmpty();
        assertThat(changed.json().at("/after/limits/0/limit").asInt()).isEqualTo(6);
        assertThat(caller.get("/v1/policies/free").header("ETag")).isEqualTo("\"2\""); // already in force

        Reply same = trusted.put("/v1/policies/free", "{\"id\":\"free\"," + LIMITS.formatted(6) + "}", ANY);
        assertThat(same.json().get("effect").asText()).isEqualTo("unchanged");
        assertThat(same.header("ETag")).isEqualTo("\"2\"");

        assertThat(trusted.delete("/v1/policies/free", "If-Match: \"2\"").status())
                .isEqualTo(204);
        JsonNode versions = caller.get("/v1/policies/free/history").json().get("versions");
        assertThat(versions.findValuesAsText("version")).containsExactly("3", "2", "1");
        assertThat(versions.get(0).get("definition").isNull()).isTrue();
        Reply gone = caller.get("/v1/policies/free"); // no longer in force
        assertThat(gone.status()).isEqualTo(404);
        assertThat(gone.detail()).isEqualTo("there is no policy 'free'");
        assertThat(caller.get("/v1/policies/never/history").status()).isEqualTo(404);
    }

    @Test
    void the_history_contains_author_and_reason(@TempDir Path directory) throws IOException {
        String path = "/v1/policies/signed";
        assertThat(trusted.put(path, body(1)).status()).isEqualTo(201);
        Reply changed =
                trusted.put(path, body(2), ANY, "X-Weir-Author: Zoë Żak", "X-Weir-Reason: more traffic <in> December");
        assertThat(changed.status()).isEqualTo(200);
        JsonNode current = caller.get(path).json();
        assertThat(current.get("author").asText()).isEqualTo("Zoë Żak");
        assertThat(current.get("reason").asText()).isEqualTo("more traffic <in> December");
        String named = "token-with-a-name-of-its-own";
        Path file = Files.writeString(directory.resolve("tokens"), "a-token-without-a-name\nci " + named + "\n");
        WeirConfig.Service settings =
                WeirConfig.DEFAULTS.service().withPort(0).withHealthPort(0).withTokenFile(file);
        try (WeirService ofTokens = WeirService.open(config().service(settings).build(), Map.of())) {
            ofTokens.attachEnforcer(enforcer.policies(), here);
            Caller ci = Caller.of(ofTokens.port(), named);
            assertThat(ci.put(path, body(3), ANY).status()).isEqualTo(200);
            assertThat(ci.delete(path, ANY, "X-Weir-Author: alice", "X-Weir-Reason:  ")
                            .status())
                    .isEqualTo(204);
        }
        JsonNode versions = caller.get("/v1/policies/signed/history").json().get("versions");
        assertThat(versions.findValuesAsText("author")).containsExactly("alice (ci)", "ci", "Zoë Żak", "null");
        assertThat(versions.findValuesAsText("reason"))
                .containsExactly("null", "null", "more traffic <in> December", "null");

        Reply forged = trusted.put("/v1/policies/unsigned", body(1), "X-Weir-Author: bob (ci)");
        assertThat(forged.status()).isEqualTo(400);
        assertThat(forged.detail()).isEqualTo("X-Weir-Author must not contain parentheses");
        for (String header : List.of("X-Weir-Author: " + "a".repeat(201), "X-Weir-Reason: " + "a".repeat(513))) {
            Reply refused = trusted.put("/v1/policies/unsigned", body(1), header);
            assertThat(refused.status()).isEqualTo(400);
            assertThat(refused.detail()).contains("must have at most");
        }
    }

    @Test
    void a_change_names_the_version_that_it_replaces() throws IOException {
        String path = "/v1/policies/versioned";
        assertThat(trusted.put(path, body(1), "If-Match: \"1\"").json().has("currentVersion"))
                .isFalse();
        assertThat(trusted.put(path, body(1), ANY).status()).isEqualTo(412);
        assertThat(trusted.put(path, body(1), "If-None-Match: *").status()).isEqualTo(201);

        Reply unsaid = trusted.put(path, body(2));
        assertThat(unsaid.status()).isEqualTo(428);
        assertThat(unsaid.header("ETag")).isEqualTo("\"1\"");
        assertThat(unsaid.json().get("currentVersion").asInt()).isEqualTo(1);
        assertThat(trusted.delete(path).status()).isEqualTo(428);
        for (String condition :
                List.of("If-None-Match: *", "If-Match: \"2\"", "If-Match: W/\"1\"", "If-Match: \"x\"")) {
            Reply refused = trusted.put(path, body(2), condition);
            assertThat(refused.status()).as(condition).isEqualTo(412);
            assertThat(refused.json().get("currentVersion").asInt()).isEqualTo(1);
        }
        for (String condition : List.of("If-Match: 1", "If-Match: \"1\", \"2\"", "If-None-Match: \"1\"")) {
            assertThat(trusted.put(path, body(2), condition).status())
                    .as(condition)
                    .isEqualTo(400);
        }
        assertThat(trusted.put(path, body(2), ANY, "If-None-Match: *").status()).isEqualTo(400);
        assertThat(trusted.delete(path, "If-Match: \"9\"").status()).isEqualTo(412);
        assertThat(caller.get(path).json().get("version").asInt()).isEqualTo(1);
        assertThat(trusted.put(path, body(2), ANY).header("ETag")).isEqualTo("\"2\"");
        assertThat(trusted.delete(path, ANY).status()).isEqualTo(204);
        for (String condition : List.of(ANY, "If-Match: \"2\"", "X: y")) {
            assertThat(trusted.delete(path, condition).status()).as(condition).isEqualTo(404);
        }
    }

    @Test
    void one_of_several_concurrent_changes_succeeds() throws Exception {
        String path = "/v1/policies/contended";
        trusted.put(path, body(1));
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<Reply>> replies = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                String body = body(10 + i);
                replies.add(threads.submit(() -> trusted.put(path, body, "If-Match: \"1\"")));
            }
            List<Integer> statuses = new ArrayList<>();
            for (Future<Reply> reply : replies) {
                statuses.add(reply.get().status());
            }
            assertThat(statuses).containsExactlyInAnyOrder(200, 412, 412, 412);
        } finally {
            threads.shutdown();
        }
        assertThat(caller.get(path).header("ETag")).isEqualTo("\"2\"");
    }

    @Test
    void a_failed_deletion_is_not_reported_as_not_found() throws Exception {
        String path = "/v1/policies/stays";
        trusted.put(path, body(1));
        ExecutorService threads = Executors.newFixedThreadPool(14);
        try {
            List<Future<Reply>> replies = new ArrayList<>();
            for (int i = 0; i < 14; i++) {
                replies.add(threads.submit(() -> trusted.delete(path, "If-Match: \"7\"")));
            }
            for (Future<Reply> reply : replies) {
                assertThat(reply.get().status()).isIn(412, 503);
            }
        } finally {
            threads.shutdown();
        }
        assertThat(caller.get(path).status()).isEqualTo(200);
        assertThat(trusted.delete(path, "If-Match: \"1\"").status()).isEqualTo(204);
        assertThat(trusted.delete(path, "If-Match: \"1\"").status()).isEqualTo(404);
    }

    @Test
    void every_fault_of_a_definition_is_reported_with_its_line() throws IOException {
        Reply faults = trusted.send(
                "PUT",
                "/v1/policies/bad",
                "limits: [{algorithm: gcra, limit: x}]\nfoo: 1\nqueue: nowhere\nid: worse\n",
                YAML);
        assertThat(faults.status()).isEqualTo(422);
        assertThat(faults.json().get("faults").findValuesAsText("path"))
                .contains("limits[0].limit", "limits[0].per", "foo", "queue", "id");
        assertThat(faults.json().at("/faults").findValuesAsText("line")).contains("1", "2", "3", "4");
        for (String body : List.of("", "[", "42", "{}", "a: &x 1", "---\n---\n")) {
            assertThat(trusted.send("PUT", "/v1/policies/bad", body, YAML).status())
                    .as(body)
                    .isEqualTo(422);
            assertThat(trusted.send("PUT", "/v1/queues/bad", body, JSON).status())
                    .as(body)
                    .isEqualTo(422);
        }
        assertThat(trusted.put("/v1/policies/a%20b", body(1)).status()).isEqualTo(422);
        assertThat(caller.get("/v1/policies/bad").status()).isEqualTo(404);
    }

    @Test
    void a_policy_that_throttles_what_another_one_shapes_is_rejected_with_the_reason() throws IOException {
        String slow =
                "{\"layer\":\"pace\",\"match\":{\"endpoint\":\"/mail/*\"},\"on-exceed\":\"throttle\",\"max-delay\":\"1m\","
                        + LIMITS.formatted(1) + "}";
        String waits = "{\"match\":{\"endpoint\":\"%s\"},\"queue\":\"mail\"}";
        assertThat(trusted.put("/v1/queues/mail", "{\"limit\":100,\"per\":\"1s\"}")
                        .status())
                .isEqualTo(201);
        assertThat(trusted.put("/v1/policies/waits", waits.formatted("/mail/send"))
                        .status())
                .isEqualTo(201);
        Reply rejected = trusted.put("/v1/policies/slow", slow);
        assertThat(rejected.status()).isEqualTo(409);
        assertThat(rejected.detail())
                .contains(
                        "policy 'slow' in layer 'pace' throttles requests that policy 'waits'", "nothing was changed");
        assertThat(caller.get("/v1/policies/slow").status()).isEqualTo(404);

        assertThat(trusted.put("/v1/policies/waits", waits.formatted("/sms"), ANY)
                        .status())
                .isEqualTo(200);
        assertThat(trusted.put("/v1/policies/slow", slow).status()).isEqualTo(201);
        Reply alsoRejected = trusted.put("/v1/policies/waits", waits.formatted("/mail/send"), ANY);
        assertThat(alsoRejected.status()).isEqualTo(409);
        assertThat(alsoRejected.detail()).isEqualTo(rejected.detail());
        for (String path : List.of("/v1/policies/slow", "/v1/policies/waits", "/v1/queues/mail")) {
            assertThat(trusted.delete(path, ANY).status()).isEqualTo(204);
        }
    }

    @Test
    void lists_are_paged() throws IOException {
        for (String id : List.of("page-1", "page-2", "page-3")) {
            trusted.put("/v1/policies/" + id, body(1));
        }
        JsonNode first = caller.get("/v1/policies?after=page-&limit=2").json();
        assertThat(first.get("policies").findValuesAsText("version")).hasSize(2);
        assertThat(first.get("next").asText()).isEqualTo("page-2");
        JsonNode rest = caller.get("/v1/policies?after=page-2&limit=10000").json();
        assertThat(rest.at("/policies/0/id").asText()).isEqualTo("page-3");
        assertThat(rest.get("next").isNull()).isTrue();
        for (String query : List.of("limit=0", "limit=10001", "limit=x", "limit=1&limit=2", "offset=1")) {
            assertThat(caller.get("/v1/policies?" + query).status()).as(query).isEqualTo(400);
        }
    }

    @Test
    void a_dry_run_of_a_file_changes_nothing() throws IOException {
        trusted.put("/v1/policies/tried", body(1));
        String file = """
                policies:
                  - {id: tried, limits: [{unlimited: true}]}
                  - {id: s, queue: q}
                queues: [{id: q, limit: 1, per: 1s}]
                """;
        Reply tried = caller.send("POST", "/v1/validate", file, YAML);
        assertThat(tried.status()).as(tried.toString()).isEqualTo(200);
        List<String> effects = new ArrayList<>();
        tried.json()
                .get("changes")
                .forEach(change -> effects.add(
                        change.get("effect").asText() + " " + change.get("id").asText()));
        assertThat(effects).containsExactly("added q", "changed tried", "added s");
        assertThat(caller.send("POST", "/v1/validate?prune=true", "policies: []", YAML)
                        .json()
                        .get("changes")
                        .findValuesAsText("effect"))
                .contains("deleted")
                .doesNotContain("added");
        Reply faults = caller.send(
                "POST", "/v1/validate", file.replace("id: s", "id: tried").replace("1s", "soon"), YAML);
        assertThat(faults.json().get("faults").findValuesAsText("path"))
                .containsExactly("policies[1].id", "queues[0].per");
        assertThat(caller.post("/v1/validate?prune=maybe", "{}").status()).isEqualTo(400);
        assertThat(caller.get("/v1/policies/tried").json().get("version").asInt())
                .isEqualTo(1);
        assertThat(caller.get("/v1/policies/s").status()).isEqualTo(404);
    }
}
