package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.weir.api.WeirService;
import dev.weir.config.WeirConfig;
import dev.weir.console.TerminalWriter;
import dev.weir.testing.TestCertificate;
import dev.weir.wire.json.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands that query the HTTP service, with responses as {@code openapi.yaml} defines them. */
class ServiceCommandsTest {

    private static final String USAGE = """
            {"client":"a/b c","at":5,"usage":[
            {"policyId":"free","policyVersion":3,"key":{"client":"a/b c","endpoint":"/x"},"lastAt":5,"limits":[
            {"label":"gcra 5/1m","limit":5,"windowMs":60000,"used":2,"remaining":3,"resetAfterMs":24000}]},
            {"policyId":"staff","policyVersion":1,"key":{"client":"a/b c"},"lastAt":null,"limits":[
            {"label":"unlimited","limit":null,"windowMs":null,"used":null,"remaining":null,"resetAfterMs":0}]}]}
            """;

    private static final String SMS = """
            {"id":"sms","version":2,"appliedAt":5,"definition":{"id":"sms","limit":100,"per":"1s"},"state":{"deleted":false,
            "waiting":3,"waitingTokens":7,"oldestWaitMs":75000,"tiers":[
            {"tier":"gold","priority":1,"weight":4,"waiting":2},{"tier":null,"priority":0,"weight":1,"waiting":1}],
            "rate":{"limit":100,"perMs":1000,"burst":1},"keys":null,"drainMs":70,"longest":[],"released":42,"nextReleaseAt":1000.02},
            "missing":[]}
            """;

    /** The response bodies by path and query. */
    private final Map<String, String> answers = new TreeMap<>();

    private HttpServer server;
    private String url;
    private int refusal = 404;
    private volatile String posted;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        url = "http://127.0.0.1:" + server.getAddress().getPort();
        server.createContext("/", exchange -> {
            posted = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            String answer = answers.get(exchange.getRequestURI().getRawPath()
                    + (exchange.getRequestURI().getRawQuery() == null
                            ? ""
                            : "?" + exchange.getRequestURI().getRawQuery()));
            byte[] body =
                    (answer == null ? "{\"detail\":\"no, since\\u009b\"}" : answer).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(answer == null ? refusal : 200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    @Test
    void usage_is_a_table() throws Exception {
        answers.put("/v1/usage/a%2Fb%20c?attribute%2Ex=%26&tier=free", USAGE);
        assertThat(Shell.run("usage", "a/b c", "--tier", "free", "--attribute", "x=&", "--service", url + "/"))
                .isEqualTo(new CapturedRun(0, """
                        POLICY             KEY                       LIMIT      USED  LEFT  RESETS IN
                        free (version 3)   client=a/b c endpoint=/x  gcra 5/1m  2     3     24s
                        staff (version 1)  client=a/b c              unlimited  -     -     0s
                        """, ""));
        assertThat(Shell.document("usage", "a/b c", "--tier", "free", "--attribute", "x=&", "--service", url))
                .isEqualTo(Json.read(USAGE));
        answers.put("/v1/usage/bob", "{\"client\":\"bob\",\"at\":5,\"usage\":[]}");
        assertThat(Shell.run("usage", "bob", "--service", url).out()).isEqualTo("no policy applies to the client\n");
    }

    @Test
    void usage_shows_what_is_reserved_and_not_settled() throws Exception {
        answers.put("/v1/usage/bob", USAGE.replace("\"lastAt\":5,", "\"lastAt\":5,\"reserved\":2,"));
        assertThat(Shell.run("usage", "bob", "--service", url)).isEqualTo(new CapturedRun(0, """
                POLICY             KEY                       LIMIT      USED  LEFT  RESETS IN
                free (version 3)   client=a/b c endpoint=/x  gcra 5/1m  2     3     24s
                staff (version 1)  client=a/b c              unlimited  -     -     0s
                reserved of free: 2 not settled yet
                """, ""));
    }

    @Test
    void usage_of_a_shared_limit_lists_its_holders() throws Exception {
        answers.put("/v1/usage/bob", """
                {"client":"bob","at":5,"usage":[
                  {"policyId":"all","policyVersion":2,"key":{},"lastAt":null,"held":7,"limits":[]},
                  {"policyId":"each","policyVersion":1,"key":{"ip":"::1"},"lastAt":null,"held":0,"limits":[]}]}
                """);
        String limits = """
                "limits":[{"label":"gcra 5/1m","limit":5,"windowMs":60000,"used":2,"remaining":3,"resetAfterMs":24000}]""";
        answers.put("/v1/shared/all", """
                {"policyId":"all","policyVersion":2,"at":5,"key":{},%s,"free":1,
                 "holders":[{"holder":"weir/0","lent":1,"until":9},{"holder":"c-1","lent":1,"until":9}]}""".formatted(limits));
        answers.put("/v1/shared/each?key.ip=%3A%3A1", """
                {"policyId":"each","policyVersion":1,"at":5,"key":{"ip":"::1"},%s,"free":3,"holders":[]}""".formatted(limits));
        assertThat(Shell.run("usage", "bob", "--service", url)).isEqualTo(new CapturedRun(0, """
                POLICY            KEY          LIMIT      USED  LEFT  RESETS IN
                all (version 2)   all clients  gcra 5/1m  2     3     24s
                each (version 1)  ip=::1       gcra 5/1m  2     3     24s
                leases of all: 1 to partition 0, 1 to c-1, 1 free
                leases of each: 3 free
                """, ""));
        assertThat(Shell.document("usage", "bob", "--service", url).at("/usage/0"))
                .isEqualTo(Json.read("""
                        {"policyId":"all","policyVersion":2,"key":{},"lastAt":null,"held":7,%s,"at":5,"free":1,
                         "holders":[{"holder":"weir/0","lent":1,"until":9},{"holder":"c-1","lent":1,"until":9}]}""".formatted(limits)));
    }

    @Test
    void reservations_are_a_table_of_all_pages() throws Exception {
        String first = """
                {"requestId":"r 1","cost":900,"since":1000,"ends":61000,"policies":[
                {"policyId":"tokens","key":{"client":"a/b c","model":"m"},"observes":false,"slotsUntil":null},
                {"policyId":"calls","key":{"client":"a/b c"},"observes":true,"slotsUntil":61000}]}""";
        String second = """
                {"requestId":"r2","cost":1,"since":9000,"ends":9000,"policies":[]}""";
        answers.put(
                "/v1/reservations/a%2Fb%20c?limit=1000",
                "{\"client\":\"a/b c\",\"at\":16000,\"reservations\":[" + first + "],\"next\":\"r 1\"}");
        answers.put(
                "/v1/reservations/a%2Fb%20c?limit=1000&after=r%201",
                "{\"client\":\"a/b c\",\"at\":16000,\"reservations\":[" + second + "],\"next\":null}");
        assertThat(Shell.run("reservations", "a/b c", "--service", url)).isEqualTo(new CapturedRun(0, """
                REQUEST  COST  AGE  ENDS IN  POLICIES
                r 1      900   15s  45s      tokens model=m, calls (slots) (observes)
                r2       1     7s   0s       -
                """, ""));
        assertThat(Shell.document("reservations", "a/b c", "--service", url))
                .isEqualTo(Json.read(
                        "{\"reservations\":[" + first + "," + second + "],\"client\":\"a/b c\",\"at\":16000}"));
        answers.put(
                "/v1/reservations/bob?limit=1000", "{\"client\":\"bob\",\"at\":1,\"reservations\":[],\"next\":null}");
        assertThat(Shell.run("reservations", "bob", "--service", url).out())
                .isEqualTo("the client has no open reservations\n");
    }

    @Test
    void reservations_are_released_and_what_is_not_is_reported() throws Exception {
        answers.put("/v1/decide?timeout=10s", """
                [{"requestId":"r1","reason":"RELEASED"},{"requestId":"r2","reason":"RELEASED","repeated":true}]""");
        String[] release = {"reservations", "bob", "--release", "r1", "--release", "r2", "--service", url};
        assertThat(Shell.run(release)).isEqualTo(new CapturedRun(0, "released r1 of bob\nreleased r2 of bob\n", ""));
        assertThat(Json.read(posted)).isEqualTo(Json.read("""
                        [{"requestId":"r1","client":"bob","kind":"RELEASE","cost":0},
                         {"requestId":"r2","client":"bob","kind":"RELEASE","cost":0}]"""));
        answers.put("/v1/decide?timeout=10s", """
                [{"requestId":"r1","reason":"RELEASED"},{"requestId":"r2","reason":"NOTHING_RESERVED"},
                 {"requestId":"r3","reason":"ALREADY_ENDED"},{"requestId":"r4","noDecision":"TIMED_OUT"}]""");
        assertThat(Shell.run(release)).isEqualTo(new CapturedRun(1, "released r1 of bob\n", """
                weir reservations: r2 of bob: not reserved, or its time is over
                weir reservations: r3 of bob: was ended before
                weir reservations: r4 of bob: no decision: TIMED_OUT
                """));
    }

    @Test
    void a_command_to_a_queue_is_posted_with_author_reason_and_key() {
        String path = "/v1/queues/web%20hooks/commands?timeoutMs=";
        answers.put(path + "10000", """
                {"id":"web hooks","action":"pause","key":{"tenant":"a=b"},"partitions":1,"pending":[]}""");
        String[] pause = {
            "queues",
            "pause",
            "web hooks",
            "--key",
            "tenant=a=b",
            "--reason",
            "żółw",
            "--author",
            "ann",
            "--service",
            url
        };
        assertThat(Shell.run(pause))
                .isEqualTo(new CapturedRun(0, "pause of web hooks tenant=a=b is in effect on 1 of 1 partition\n", ""));
        assertThat(Json.read(posted)).isEqualTo(Json.read("""
                {"action":"pause","author":"ann","reason":"żółw","key":{"tenant":"a=b"}}"""));
        answers.put(path + "0", """
                {"id":"web hooks","action":"purge","key":{},"partitions":3,"pending":[0,2]}""");
        CapturedRun slow = Shell.run(
                "queues", "purge", "web hooks", "--timeout", "0", "--reason", "old", "--author", "a", "--service", url);
        assertThat(slow.exit()).isEqualTo(1);
        assertThat(slow.out()).isEqualTo("purge of web hooks is in effect on 1 of 3 partitions\n");
        assertThat(slow.err()).startsWith("weir queues purge: not yet in effect on partitions [0,2]");
        assertThat(Shell.run("queues", "drain", "mail", "--reason", "r", "--service", url))
                .isEqualTo(new CapturedRun(2, "", "weir queues drain: no queue mail\n"));
        assertThat(Shell.run("queues", "resume", "mail", "--service", url))
                .isEqualTo(new CapturedRun(2, "", "weir queues resume: --reason TEXT is missing: say why\n"));
    }

    @Test
    void commands_to_a_queue_and_those_in_effect_are_tables() {
        answers.put("/v1/queues/sms/commands", """
                {"id":"sms","commands":[
                {"number":2,"sentAt":61000,"action":"pause","key":{},"author":"ann","reason":"down"},
                {"number":1,"sentAt":1000,"action":"purge","key":{"tenant":"a"},"author":null,"reason":"old"}]}""");
        assertThat(Shell.run("queues", "commands", "sms", "--service", url)).isEqualTo(new CapturedRun(0, """
                NUMBER  SENT AT               COMMAND  KEY       AUTHOR  REASON
                2       1970-01-01T00:01:01Z  pause    -         ann     down
                1       1970-01-01T00:00:01Z  purge    tenant=a  -       old
                """, ""));
        answers.put("/v1/queues/sms", SMS.replace("\"nextReleaseAt\":1000.02}", """
                "nextReleaseAt":null,"paused":{"author":"ann","reason":"down","since":61000},"draining":null,"purging":true,
                "commandedKeys":1,"keyCommands":[{"key":{"tenant":"a"},"paused":null,
                "draining":{"author":null,"reason":"moves","since":1000}}]}"""));
        assertThat(Shell.run("queues", "sms", "--service", url).out())
                .contains("sms (paused, purging)")
                .contains("""
                        COMMAND   KEY       SINCE                 AUTHOR  REASON
                        paused    -         1970-01-01T00:01:01Z  ann     down
                        draining  tenant=a  1970-01-01T00:00:01Z  -       moves
                        """);
    }

    @Test
    void queues_are_a_table_and_a_single_queue_is_listed_by_tier() throws Exception {
        answers.put("/v1/queues?after=", "{\"queues\":[{\"id\":\"sms\"}],\"next\":\"sms\"}");
        answers.put("/v1/queues?after=sms", "{\"queues\":[{\"id\":\"gone\"}],\"next\":null}");
        answers.put("/v1/queues/sms", SMS);
        assertThat(Shell.run("queues", "--service", url)).isEqualTo(new CapturedRun(0, """
                QUEUE  VERSION  RATE    KEYS  WAITING  OLDEST  DRAINS IN  RELEASED
                sms    2        100/1s  -     3        1m 15s  70ms       42
                """, ""));
        assertThat(Shell.run("queues", "sms", "--service", url)).isEqualTo(new CapturedRun(0, """
                QUEUE  VERSION  RATE    KEYS  WAITING  OLDEST  DRAINS IN  RELEASED
                sms    2        100/1s  -     3        1m 15s  70ms       42

                TIER  PRIORITY  WEIGHT  WAITING
                gold  1         4       2
                -     0         1       1
                """, ""));
        assertThat(Shell.document("queues", "sms", "--service", url)).isEqualTo(Json.read(SMS));
        assertThat(Shell.document("queues", "--service", url)).isEqualTo(Json.read("{\"queues\":[" + SMS + "]}"));
        assertThat(Shell.run("queues", "mail", "--service", url))
                .isEqualTo(new CapturedRun(2, "", "weir queues: no queue mail\n"));
    }

    @Test
    void a_queue_is_printed_with_what_its_workers_have() {
        answers.put(
                "/v1/queues/sms",
                SMS.replace("\"per\":\"1s\"}", "\"per\":\"1s\",\"max-in-flight\":8}")
                        .replace("\"nextReleaseAt\":1000.02}", """
                "nextReleaseAt":null,"inFlight":{"requests":3,"slots":5,"retries":1,"oldestMs":75000,"tiers":[
                {"tier":null,"slots":1},{"tier":"gold","slots":4}]}}"""));
        assertThat(Shell.run("queues", "sms", "--service", url).out()).endsWith("""

                IN FLIGHT  SLOTS   OLDEST  RETRIES
                3          5 of 8  1m 15s  1
                tier -     1
                tier gold  4
                """);
        answers.put(
                "/v1/queues/sms",
                SMS.replace("\"per\":\"1s\"}", "\"max-in-flight\":8}").replace("\"keys\":null", """
                "keys":2,"inFlight":{"requests":0,"slots":0,"retries":0,"oldestMs":null,"tiers":[]}"""));
        assertThat(Shell.run("queues", "sms", "--service", url).out()).endsWith("""

                IN FLIGHT  SLOTS       OLDEST  RETRIES
                0          0, 8 a key  -       0
                """);
    }

    @Test
    void a_queue_is_printed_with_the_slots_of_all_keys() {
        String jobs = """
                {"id":"jobs","version":2,"appliedAt":5,
                "definition":{"id":"jobs","key":["tenant"],%s"total":{"max-in-flight":9}},
                "state":{"deleted":false,"waiting":3,"waitingTokens":7,"oldestWaitMs":75000,"tiers":[],"rate":null,
                "keys":2,"drainMs":0,"longest":[],"released":null,"nextReleaseAt":null,
                "inFlight":{"requests":3,"slots":5,"retries":0,"oldestMs":75000,"tiers":[]}},"missing":[]}""";
        answers.put("/v1/queues/jobs", jobs.formatted(""));
        assertThat(Shell.run("queues", "jobs", "--service", url).out()).isEqualTo("""
                QUEUE  VERSION  RATE  KEYS  WAITING  OLDEST  DRAINS IN  RELEASED
                jobs   2        -     2     3        1m 15s  0s         -

                IN FLIGHT  SLOTS          OLDEST  RETRIES
                3          5 of 9 in all  1m 15s  0
                """);
        answers.put("/v1/queues/jobs", jobs.formatted("\"max-in-flight\":4,"));
        assertThat(Shell.run("queues", "jobs", "--service", url).out()).endsWith("""

                IN FLIGHT  SLOTS                   OLDEST  RETRIES
                3          5 of 9 in all, 4 a key  1m 15s  0
                """);
    }

    @Test
    void a_queue_with_a_key_is_printed_with_its_longest_keys_and_key_by_key() {
        StringBuilder longest = new StringBuilder();
        for (int i = 0; i < 30; i++) {
            longest.append(i == 0 ? "" : ",").append("""
                    {"key":{"destination":"d%d","tenant":"a"},"waiting":%d,"waitingTokens":9,"oldestWaitMs":%d,"drainMs":%d}""".formatted(i, 40 - i, i * 1_000, 7_800 - 200 * i));
        }
        answers.put("/v1/queues/webhooks", """
                {"id":"webhooks","version":2,"appliedAt":5,"definition":{"total":{"limit":50,"per":"1s"}},"state":{"deleted":false,
                "waiting":765,"waitingTokens":770,"oldestWaitMs":29000,"tiers":[],"rate":{"limit":5,"perMs":1000,"burst":1},
                "keys":34,"drainMs":7800,"longest":[%s],"released":null,"nextReleaseAt":null},"missing":["b:1"]}""".formatted(longest));
        CapturedRun whole = Shell.run("queues", "webhooks", "--service", url);
        assertThat(whole.err())
                .isEqualTo("weir queues: the keys of webhooks on b:1 are missing: the instance does not respond\n");
        assertThat(whole.exit()).isZero();
        assertThat(whole.out())
                .startsWith("""
                        QUEUE     VERSION  RATE                      KEYS  WAITING  OLDEST  DRAINS IN  RELEASED
                        webhooks  2        5/1s a key, 50/1s in all  34    765      29s     7.8s       -

                        LONGEST KEYS              WAITING  OLDEST  DRAINS IN
                        destination=d0 tenant=a   40       0s      7.8s
                        destination=d1 tenant=a   39       1s      7.6s
                        """)
                .contains("destination=d9 ", "destination=d20 ")
                .doesNotContain("destination=d10 ", "destination=d19 ")
                .endsWith("destination=d29 tenant=a  11       29s     2s\n");

        answers.put("/v1/queues/webhooks/keys/destination=a%26b&tenant=c%20d", """
                {"id":"webhooks","version":2,"key":{"destination":"a&b","tenant":"c d"},"state":{"deleted":false,
                "waiting":1,"waitingTokens":1,"oldestWaitMs":500,"tiers":[
                {"tier":null,"priority":0,"weight":1,"waiting":1}],"rate":{"limit":5,"perMs":1000,"burst":1},
                "keys":null,"drainMs":200,"longest":[],"released":9,"nextReleaseAt":1000.02}}""");
        String[] one = {"queues", "webhooks", "--key", "destination=a&b", "--key", "tenant=c d", "--service", url};
        assertThat(Shell.run(one)).isEqualTo(new CapturedRun(0, """
                QUEUE     VERSION  RATE  KEY                         WAITING  OLDEST  DRAINS IN  RELEASED
                webhooks  2        5/1s  destination=a&b tenant=c d  1        500ms   200ms      9

                TIER  PRIORITY  WEIGHT  WAITING
                -     0         1       1
                """, ""));
        assertThat(Shell.run("queues", "--key", "a=b", "--service", url))
                .isEqualTo(
                        new CapturedRun(2, "", "weir queues: --key needs a queue: weir queues ID --key FIELD=VALUE\n"));
        refusal = 400;
        assertThat(Shell.run("queues", "webhooks", "--key", "tenant=c", "--service", url)
                        .err())
                .isEqualTo("weir queues: " + url + ": no, since\\u009b\n");
    }

    private static final String LIMITED = """
            {"from":1732240800000,"to":1732240860000,"exact":%s,"requests":2000,"clients":[
            {"client":"greedy","policy":"free","reason":"LIMIT_EXCEEDED","requests":1500},
            {"client":"al\\u001bice","policy":"sms","reason":"QUEUE_FULL","requests":400}],"policies":[
            {"policy":"free","allowed":500,"denied":1500,"queued":0}],"missing":[%s]}
            """;

    @Test
    void the_most_limited_clients_are_a_table() throws Exception {
        answers.put("/v1/live/limited?minutes=1&most=20", LIMITED.formatted(true, ""));
        assertThat(Shell.run("top", "--service", url)).isEqualTo(new CapturedRun(0, """
                CLIENT       POLICY  REASON          REQUESTS  SHARE
                greedy       free    LIMIT_EXCEEDED  1,500     75.0%
                al\\u001bice  sms     QUEUE_FULL      400       20.0%
                """, ""));
        assertThat(Shell.run("top", "policies", "--service", url)).isEqualTo(new CapturedRun(0, """
                POLICY  ALLOWED  QUEUED  DENIED  SHARE DENIED
                free    500      0       1,500   75.0%
                """, ""));
        assertThat(Shell.document("top", "--service", url)).isEqualTo(Json.read(LIMITED.formatted(true, "")));
    }

    @Test
    void top_selects_a_period_a_client_a_policy_and_a_reason() {
        String none = "{\"from\":1732240800000,\"to\":0,\"exact\":true,\"requests\":0,\"clients\":[],"
                + "\"policies\":[],\"missing\":[]}";
        answers.put("/v1/live/limited?minutes=90&most=5&client=a%20b&policy=free&reason=QUEUE_FULL", none);
        String[] top = "top --since 90m --most 5 --client a_b --policy free --reason queue_full --service".split(" ");
        List<String> words = new ArrayList<>(List.of(top));
        words.replaceAll(word -> word.replace("a_b", "a b"));
        words.add(url);
        assertThat(Shell.run(words.toArray(String[]::new)).out())
                .isEqualTo("no client was limited since 2024-11-22T02:00:00Z\n");
    }

    @Test
    void top_says_what_is_estimated_or_missing() {
        answers.put("/v1/live/limited?minutes=1&most=20", LIMITED.formatted(false, "\"b:1\""));
        assertThat(Shell.run("top", "--service", url).err())
                .isEqualTo("weir top: the figures of b:1 are missing: the instance does not respond\n"
                        + "weir top: the counts are estimates, because many clients were limited\n");
    }

    @Test
    void on_a_terminal_top_is_refreshed_and_waits_for_an_instance_that_does_not_respond() {
        for (int rows = 1; rows <= 300; rows++) { // of the terminal of this process, if it has one
            answers.put("/v1/live/limited?minutes=1&most=" + rows, LIMITED.formatted(true, ""));
        }
        String screen = onTerminal(0, Map.of("TERM", "xterm"), "top", "-n", "2", "--every", "1s", "--service", url);
        assertThat(screen.split("\u001b\\[H\u001b\\[2J", -1)).hasSize(3).satisfies(lists -> assertThat(lists[1])
                .isEqualTo(lists[2])
                .startsWith("\u001b[1mweir top: 2,000 limited requests from ")
                .contains("\u001b[0m\nCLIENT ", "\ngreedy       free    LIMIT_EXCEEDED  1,500     75.0%\n"));
        server.stop(0);
        assertThat(onTerminal(1, Map.of("NO_COLOR", "1"), "top", "-n", "1", "--service", url))
                .contains("weir top: ")
                .doesNotContain("\u001b[3");
    }

    private static String onTerminal(int exit, Map<String, String> environment, String... args) {
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        TerminalWriter out = new TerminalWriter(screen, () -> true, environment);
        assertThat(Main.execute(out, new PrintWriter(new StringWriter()), args)).isEqualTo(exit);
        return screen.toString(StandardCharsets.UTF_8);
    }

    @Test
    void tables_have_colours_on_a_terminal_only() {
        answers.put(
                "/v1/usage/bob",
                "{\"client\":\"bob\",\"at\":5,\"usage\":[" + USAGE.substring(USAGE.indexOf("{\"policyId")));
        String[] usage = {"usage", "bob", "--service", url};
        String plain = Shell.run(usage).out();
        assertThat(plain).startsWith("POLICY ").doesNotContain("\u001b");
        assertThat(onTerminal(0, Map.of("TERM", "xterm"), usage))
                .startsWith("\u001b[1mPOLICY ")
                .isEqualToIgnoringNewLines(plain.replaceFirst("(?m)^(.*)$", "\u001b[1m$1\u001b[0m"));
        for (Map<String, String> without : List.of(Map.of("NO_COLOR", "1"), Map.of("TERM", "dumb"))) {
            assertThat(onTerminal(0, without, usage)).isEqualTo(plain);
        }
        assertThat(onTerminal(0, Map.of("NO_COLOR", ""), usage)).startsWith("\u001b[1m");
    }

    @Test
    void names_from_producers_cannot_control_the_terminal() throws Exception {
        answers.put("/v1/usage/bob", USAGE.replace("/x", "/\\u001b[2J\\n\u009b"));
        assertThat(Shell.run("usage", "bob", "--service", url).out())
                .contains("endpoint=/\\u001b[2J\\u000a\\u009b  gcra")
                .hasLineCount(3);
        assertThat(Shell.document("usage", "bob", "--service", url)
                        .at("/usage/0/key/endpoint")
                        .asText())
                .isEqualTo("/\u001b[2J\n\u009b");
        answers.put("/v1/queues?after=", "{\"queues\":[{\"id\":\"sms\"}],\"next\":null}");
        answers.put("/v1/queues/sms", SMS.replace("gold", "\u202e\u009b"));
        assertThat(Shell.run("queues", "sms", "--service", url).out()).contains("\n\\u202e\\u009b  1  ");
        assertThat(Shell.document("queues", "sms", "--service", url)
                        .at("/state/tiers/0/tier")
                        .asText())
                .isEqualTo("\u202e\u009b");
    }

    @Test
    void a_tls_service_is_trusted_by_a_ca_file(@TempDir Path directory) throws Exception {
        TestCertificate made = TestCertificate.make(directory, "a", "EC");
        WeirConfig.Service.Tls tls =
                new WeirConfig.Service.Tls(made.certificate(), made.key(), Optional.of(made.certificate()));
        WeirConfig config = WeirConfig.DEFAULTS.toBuilder()
                .service(WeirConfig.DEFAULTS.service().withPort(0).withTls(tls))
                .build();
        try (WeirService service = WeirService.open(config, Map.of())) {
            String ca = made.certificate().toString();
            assertThat(Shell.run("usage", "bob", "--service", service.url(), "--service-ca", ca)
                            .err())
                    .isEqualTo("weir usage: " + service.url() + ": the enforcer is starting\n");
            CapturedRun untrusted = Shell.run("usage", "bob", "--service", service.url());
            assertThat(untrusted.exit()).isEqualTo(1);
            assertThat(untrusted.err())
                    .startsWith("weir usage: " + service.url() + " does not use TLS, or its certificate is not trusted")
                    .contains("set --service-ca to the PEM file")
                    .hasLineCount(1);
            assertThat(Shell.run("usage", "bob", "--service", service.url(), "--service-ca", "/none"))
                    .isEqualTo(new CapturedRun(2, "", "weir usage: --service-ca: /none: no such file\n"));
        }
    }

    @Test
    void a_rejected_request_is_one_line() {
        refusal = 401;
        assertThat(Shell.run("usage", "bob", "--service", url))
                .isEqualTo(new CapturedRun(2, "", "weir usage: " + url + ": no, since\\u009b\n"));
        refusal = 503;
        assertThat(Shell.run("usage", "bob", "--service", url).exit()).isEqualTo(1);
        assertThat(Shell.run("usage", "bob", "--service", "http://127.0.0.1:1"))
                .isEqualTo(new CapturedRun(
                        1,
                        "",
                        "weir usage: no response from http://127.0.0.1:1; start `weir run`, or set --service or WEIR_URL to the URL"
                                + " of an instance (https:// if service.tls is configured)\n"));
        for (String bad : new String[] {"127.0.0.1:8680", "ftp://x", "http://a b"}) {
            assertThat(Shell.run("usage", "bob", "--service", bad).exit())
                    .as(bad)
                    .isEqualTo(2);
        }
    }
}
