package dev.weir.page;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.weir.api.Caller;
import dev.weir.api.Reply;
import dev.weir.api.WeirService;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.openqa.selenium.Keys;

/** Tests the live page of a real run in a real browser. */
@Tag("full")
class LivePageTest {

    private static final int WIDTH = 1280;
    private static final int PHONE_WIDTH = 360;
    private static final int HEIGHT = 900;

    /** A client name that would run a script if it were markup, and turns the direction of the text after it. */
    private static final String MARKUP = "<img src=x onerror=\"window.ran=true\">\u202e";

    private static final String SHOWN = MARKUP.replace("\u202e", "\\u202e");

    /** The browser logs each response without success. The page handles these statuses. */
    private static final String ANSWERS_THAT_MAY_BE = ".*/v1/.*status of (401|404|412|422|503).*";

    @TempDir
    static Path directory;

    private static LiveRun run;
    private static Browser browser;
    private static PageProbe probe;

    @BeforeAll
    static void start() throws Exception {
        assumeTrue(Browser.isThere() || System.getenv("CI") != null, Browser.WHAT_IT_NEEDS);
        browser = Browser.open();
        probe = new PageProbe(browser);
        run = new LiveRun(directory, MARKUP);
        run.sendInvalid("{\"client\": <b>");
        run.sendInvalid("no request");
        await(
                "dead letters",
                Duration.ofMinutes(1),
                () -> run.caller(null)
                                .get("/v1/dead-letters")
                                .json()
                                .get("read")
                                .asInt()
                        == 2);
    }

    @AfterAll
    static void stop() {
        if (browser != null) {
            browser.close();
        }
        if (run != null) {
            run.close();
        }
    }

    @BeforeEach
    void deleteDefinitions() {
        browser.size(WIDTH, HEIGHT);
        browser.prefer("light");
        browser.go(run.url());
        browser.run("sessionStorage.clear(); localStorage.clear()");
        browser.complaints();
    }

    @AfterEach
    void checkConsole() {
        assertThat(browser.complaints()).allMatch(complaint -> complaint.matches(ANSWERS_THAT_MAY_BE));
        assertThat((List<?>) browser.run("return performance.getEntriesByType('resource')"
                        + ".map(entry => new URL(entry.name).host).filter(host => host !== location.host)"))
                .isEmpty();
        assertThat(browser.run("return location.href.includes(arguments[0])", LiveRun.TOKEN))
                .isEqualTo(false);
    }

    private static void open(String view) {
        browser.go(run.url() + "#/" + view);
    }

    @Test
    void the_overview_shows_decisions() {
        open("overview");
        browser.find("#pulse", "live");
        browser.await("decisions", () -> browser.text(".figure:first-child b").matches("[1-9][0-9,]*/s"));
        assertThat(browser.text(".figures")).contains("Instances", "1/1");
        browser.await("a drawn chart", () -> (Boolean) browser.run("""
                const canvas = document.querySelector('canvas');
                const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
                copy.drawImage(canvas, 0, 0);
                const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
                const [r, g, b] = getComputedStyle(document.querySelector('.bar.denied > span')
                    ?? document.body).backgroundColor.match(/\\d+/g).map(Number);
                for (let i = 0; i < pixels.length; i += 4) {
                  if (pixels[i] === r && pixels[i + 1] === g && pixels[i + 2] === b && pixels[i + 3] === 255) {
                    return true;
                  }
                }
                return false"""));
        browser.click(".chart summary", "As a table");
        browser.await("rows", () -> browser.count(".chart tbody tr") > 0);
        browser.find("main table", "free-articles");
    }

    @Test
    void a_denied_client_is_listed_and_links_to_the_reason() {
        open("overview");
        browser.click("main td a, main th a", LiveRun.GREEDY);
        assertThat(browser.find("h2.name", "").getText()).isEqualTo(LiveRun.GREEDY);
        browser.find(".usage", "sliding-window-counter 600/1m");
        browser.find(".usage", "used");
        browser.find("tbody tr", "Denied");
        assertThat(browser.find("tbody tr .why", "Exceeds token-bucket").getText())
                .contains("allowed in", "LIMIT_EXCEEDED");
    }

    @Test
    void a_client_page_shows_shared_limits_and_their_leases() {
        open("client/" + LiveRun.GREEDY);
        browser.find(".usages h3", "shared by all clients");
        browser.find(".usage", "token-bucket 100000/1m");
        assertThat(browser.find(".usages .note", " leased to partition ").getText())
                .endsWith(" free");
    }

    @Test
    void a_client_page_shows_a_shared_policy_that_applied_only_to_some_requests() {
        open("client/" + LiveRun.MAIL_CLIENT);
        browser.find(".usages h3", "mail-provider");
        browser.find(".usage", "gcra 1000/1s");
    }

    @Test
    void without_a_client_the_recent_ones_are_listed() {
        open("client");
        browser.find("main th a", "reader-");
        browser.find("main table", LiveRun.GREEDY);
        browser.click(".grid .card:first-child th a", "reader-");
        assertThat(browser.find("h2.name", "").getText()).startsWith("reader-");
    }

    @Test
    void limited_clients_are_filtered_by_reason_and_policy_over_the_selected_range() {
        open("client");
        browser.find(".card th a", LiveRun.GREEDY);
        browser.find(".card td a", "free-articles");
        browser.click(".ranges button", "1h");
        browser.find(".card .note", "in the last hour");
        select("filter-reason", "QUEUE_FULL");
        browser.await("no client that a limit denied", () -> browser.text(".grid .card:last-child .note ~ div")
                .matches("(?s).*(QUEUE_FULL|No client).*"));
        assertThat(browser.text(".grid .card:last-child .note ~ div")).doesNotContain("LIMIT_EXCEEDED");
        select("filter-reason", "LIMIT_EXCEEDED");
        browser.find(".grid .card:last-child th a", LiveRun.GREEDY);
        select("filter-policy", "no-such-policy");
        browser.find(".card .empty", "No client was limited.");
        browser.click(".ranges button", "5m");
    }

    @Test
    void decisions_of_a_client_are_filtered() {
        open("client/" + LiveRun.GREEDY);
        browser.find("tbody tr", "Allowed");
        select("filter-outcome", "DENIED");
        browser.await(
                "only denials",
                () -> browser.count("tbody tr") > 0 && !browser.text("tbody").contains("Allowed"));
        browser.find("tbody tr", "LIMIT_EXCEEDED");
        select("filter-tier", "no-such-tier");
        browser.find(".card .empty", "There are no such decisions among these records.");
        select("filter-tier", "free");
        browser.find("tbody tr", "LIMIT_EXCEEDED");
        select("filter-policy", "no-such-policy");
        browser.find(".card .empty", "There are no such decisions among these records.");
    }

    private static void select(String field, String value) {
        browser.run("""
                const field = document.getElementById(arguments[0]);
                field.value = arguments[1];
                field.dispatchEvent(new Event('change'))""", field, value);
    }

    @Test
    void a_list_keeps_its_rows_while_the_pointer_moves_over_it() {
        open("client");
        browser.find("main th a", LiveRun.GREEDY);
        browser.run("""
                window.redrawnAfterMs = [];
                let movedAt = performance.now();
                addEventListener('pointermove', () => {
                  movedAt = performance.now();
                  redrawnAfterMs = [];
                });
                new MutationObserver(() => redrawnAfterMs.push(performance.now() - movedAt))
                    .observe(document.querySelector('.grid .card:first-child > div'), {childList: true})""");
        browser.point(".grid .card:first-child th a", LiveRun.GREEDY);
        browser.await("the list with new figures after the pointer rests", () ->
                (Boolean) browser.run("return redrawnAfterMs.length > 1"));
        assertThat((Boolean) browser.run("return redrawnAfterMs[0] > 4900")).isTrue();
    }

    @Test
    void without_a_policy_there_is_a_summary() {
        open("policies");
        browser.find("main .card", "queues in force, 3 of the policies shared by clients");
        browser.find("main table", "free-articles");
        browser.await("a policy that passed requests which another one denied", () -> (Boolean) browser.run("""
                const row = [...document.querySelectorAll('main tr')]
                    .find(row => row.cells.length === 5 && row.cells[0].innerText === 'whole-site' && row.querySelector('.bar'));
                return row !== undefined && Number(row.cells[1].innerText.replaceAll(',', '')) > 0"""));
    }

    @Test
    void a_shared_policy_shows_its_usage_and_leases() {
        open("policies");
        browser.click(".rules a", "whole-site shared");
        browser.find("h2", "Shared by all clients");
        browser.find(".usage", "token-bucket 100000/1m");
        assertThat(browser.find(".card > .note", " leased to partition ").getText())
                .endsWith(" free");
        open("policies/policy/each-region");
        browser.find(".card > .note", "Counted by region: see the page of a client");
        open("policies/policy/search");
        browser.find(".versions", "Version 1");
        assertThat(browser.text("main")).doesNotContain("Shared by all clients");
    }

    @Test
    void a_name_with_markup_is_shown_as_text() {
        open("overview");
        browser.click("main th a", SHOWN);
        assertThat(browser.find("h2.name", "").getText()).isEqualTo(SHOWN);
        browser.find("tbody tr", "Denied");
        assertThat(browser.count("main img")).isZero();
        assertThat(browser.run("return window.ran === undefined")).isEqualTo(true);
    }

    @Test
    void a_queue_shows_its_tiers_in_order_of_priority() {
        open("queues");
        browser.find(".queue h2", "sms");
        browser.await("tiers", () -> tiers().matches("gold [0-9,]+ priority 1 · weight 1"
                + " silver [0-9,]+ priority 0 · weight 4 no tier [0-9,]+ priority 0 · weight 1"));
        browser.await("water", () -> (Boolean) browser.run("""
                const heights = [...document.querySelectorAll('.layer.some')].map(layer => layer.offsetHeight);
                return heights.length > 0 && heights.every(height => height > 0)"""));
        browser.await("bars in the colours of their tiers", () -> (Boolean) browser.run("""
                const colour = element => getComputedStyle(element).backgroundColor;
                const tiers = [...document.querySelectorAll('.tiers li')].filter(tier => tier.querySelector('.bar'));
                return tiers.length > 2
                    && tiers.every(tier => colour(tier.querySelector('.swatch')) === colour(tier.querySelector('.bar > span')))"""));
        assertThat((String) browser.run("return document.querySelector('.vessel').getAttribute('aria-label')"))
                .contains(" of ", " waiting; ");
        browser.find(".queue .legend", "limit 16/s");
    }

    @Test
    void a_queue_with_a_key_shows_its_longest_keys_and_their_drain_times() {
        open("queues");
        browser.find(".queue .depth", "keys in use");
        browser.find(".queue h3", "Longest keys");
        browser.await("a key, as text", () -> keys().matches(
                        "(?s)client=" + Pattern.quote(SHOWN) + " [0-9,]+ oldest .* · drains in .*"));
        assertThat(browser.count(".keys img")).isZero();
        browser.await("bars to scale", () -> (Boolean) browser.run("""
                const widths = [...document.querySelectorAll('.keys .bar > span')].map(bar => bar.offsetWidth);
                return widths.length > 1 && widths.length <= 8 && widths[0] > 0
                    && widths.every((width, i) => i === 0 || width <= widths[i - 1])"""));
        browser.await("the time to drain", () -> browser.text("main").matches("(?s).*All keys drain in\\s+[0-9].*"));
        browser.await(
                "the time to drain without a key", () -> browser.text("main").matches("(?s).*\\sDrains in\\s.*"));
    }

    @Test
    void an_instance_shows_its_partitions() {
        open("instances");
        browser.find(".instance", "RUNNING");
        // the build runs tests with jars, an IDE without
        browser.await("version and time", () -> browser.text(".instance")
                .matches("(?s).*version ([0-9].*|unknown \\(not from a jar\\)) · up .*"));
        browser.await("lags as text", () -> browser.text(".cells").matches("(?s).*active\\s+lag [0-9].*"));
    }

    @Test
    void gateways_show_how_they_decide_and_which_do_not_respond() throws Exception {
        open("instances");
        browser.find(".gateway", "Its figures are missing: it does not respond.");
        assertThat(browser.find(".gateway", run.gatewayAddress()).getText()).contains("RUNNING");
        Caller proxy = Caller.unchecked(run.gatewayPort());
        await(
                "a decision of the gateway",
                Duration.ofMinutes(1),
                () -> proxy.get("/v1/authorize/a").header("X-Weir-Fallback") == null);
        browser.reload(); // forgets the counts before
        browser.find(".gateway", " requests since its start");
        browser.find(".gateway", " by the topics · ");
        browser.find(".gateway", " requests per second");
    }

    @Test
    void a_policy_is_validated_backtested_and_applied_with_the_token() throws Exception {
        open("policies/policy/search");
        browser.await("the definition", () -> value().contains("limit: 30"));

        write(value().replace("limit: 30", "limt: 30"));
        browser.click(".faults button", "limt");
        String faulty = (String)
                browser.run(
                        "return document.getElementById('definition').value"
                                + ".slice(document.getElementById('definition').selectionStart, document.getElementById('definition').selectionEnd)");
        assertThat(faulty).contains("limt: 30");
        assertThat(browser.count(".gutter .marked")).isPositive();

        write(value().replace("limt: 30", "limit: 31"));
        browser.find(".verdict .details", "limits[0].limit: 30 -> 31");
        browser.click("button", "5m");
        assertThat(browser.find(".result p", "requests").getText()).containsPattern("[1-9][0-9,]* requests");
        browser.find(".result tbody tr", "search");
        browser.find(".result .warning", "mail-provider, whole-site are shared by clients");
        browser.run("scrollBy(0, document.querySelector('.actions').getBoundingClientRect().top - 5)");
        browser.find(".actions button", "Apply").click(); // not covered by the head of the page
        browser.write("#token-field", "not the token of it");
        browser.click("dialog button", "Use token");
        browser.find("#token-why.fault", "wrong");
        browser.write("#token-field", LiveRun.TOKEN);
        browser.click("dialog button", "Use token");
        browser.find(".result .success", "In force as version 2");
        browser.find(".result .details", "limits[0].limit: 30 -> 31");
        assertThat(browser.text(".verdict")).isEmpty();
        assertThat(run.caller(null)
                        .get("/v1/policies/search")
                        .json()
                        .at("/definition/limits/0/limit")
                        .asInt())
                .isEqualTo(31);
        browser.find(".versions", "Version 2");
        Reply again = run.caller(LiveRun.TOKEN)
                .put(
                        "/v1/policies/search",
                        run.caller(null)
                                .get("/v1/policies/search")
                                .json()
                                .get("definition")
                                .toString()
                                .replace(":31", ":32"),
                        "If-Match: *",
                        "X-Weir-Author: Zoë: 'ops'",
                        "X-Weir-Reason: # more <b>traffic</b>");
        assertThat(again.status()).isEqualTo(200);
        open("policies");
        open("policies/policy/search");
        browser.click(".versions summary", "Version 3");
        browser.find(".versions summary", "Zoë: 'ops'");
        browser.find(".versions .note", "# more <b>traffic</b>");
    }

    @Test
    void without_a_definition_nothing_can_be_applied() {
        open("policies/policy/not-there");
        browser.find(".editor .fault", "there is no policy 'not-there'");
        browser.await("disabled buttons", () -> (Boolean) browser.run("""
                return [...document.querySelectorAll('.editor button')].every(button => button.disabled)"""));
        open("policies/new/policy");
        browser.await("a template", () -> value().contains("my-policy"));
        assertThat(browser.find(".actions button", "Apply").isEnabled()).isTrue();
        browser.write("#definition", Keys.BACK_SPACE.toString());
        assertThat(browser.find(".actions button", "Apply").isEnabled()).isFalse();
    }

    @Test
    void a_version_is_restored_and_a_policy_deleted() throws Exception {
        Caller caller = run.caller(LiveRun.TOKEN);
        String path = "/v1/policies/short-lived";
        for (int limit = 7; limit < 9; limit++) {
            caller.put(
                    path,
                    "{\"match\":{\"client\":\"nobody\"},\"limits\":[{\"algorithm\":\"gcra\",\"limit\":%d,\"per\":\"1s\"}]}"
                            .formatted(limit),
                    limit == 7 ? "If-None-Match: *" : "If-Match: *");
        }
        browser.run("sessionStorage.setItem('weir.token', arguments[0])", LiveRun.TOKEN);
        open("policies/policy/short-lived");
        browser.click(".versions summary", "Version 1");
        browser.click(".versions button", "Restore version 1");
        browser.find(".verdict .details", "limits[0].limit: 8 -> 7");
        browser.write("#author", "Zoë");
        browser.click("button", "Apply");
        browser.find(".result", "In force as version 3");
        browser.click(".versions summary", "Version 3");
        browser.find(".versions summary", "Zoë");
        browser.find(".versions .note", "Restore version 1");
        assertThat(caller.get(path).json().at("/definition/limits/0/limit").asInt())
                .isEqualTo(7);

        browser.write("#reason", "no longer needed");
        browser.click("button", "Delete");
        browser.click("dialog button", "Cancel");
        assertThat(caller.get(path).status()).isEqualTo(200);
        browser.click("button", "Delete");
        browser.find("dialog", "Delete the policy short-lived?");
        browser.click("dialog button", "Delete policy");
        browser.find(".result", "The policy short-lived is deleted");
        assertThat(caller.get(path).status()).isEqualTo(404);
        browser.find(".versions summary", "Version 4");

        open("policies/policy/short-lived");
        browser.find(".editor", "Deleted. Restore one of its versions");
        browser.click(".versions summary", "Version 4");
        browser.find(".versions .note", "no longer needed");
        browser.click(".versions summary", "Version 2");
        browser.click(".versions button", "Restore version 2");
        browser.find(".verdict", "Valid");
        browser.click("button", "Apply");
        browser.find(".result", "In force as version 5");
        browser.find(".rules a", "short-lived");
    }

    @Test
    void a_wrong_token_is_discarded_and_does_not_prevent_reading() {
        open("policies/policy/search");
        browser.await("the definition", () -> value().contains("limit: 3"));
        write(value().replace("limit: 3", "limit: 4"));
        browser.find(".verdict", "Valid");
        browser.click("button", "Apply");
        browser.find("#token-why", "changes need a token");
        browser.write("#token-field", "not the token of it");
        browser.click("dialog button", "Use token");
        browser.find("#token-why", "wrong");
        browser.click("dialog button", "Cancel");
        browser.find(".result", "wrong");
        browser.run("location.hash = '#/client/' + arguments[0]", LiveRun.GREEDY);
        browser.find(".usage", "used");
        browser.find("tbody tr", "Denied");
        assertThat(browser.run("return sessionStorage.getItem('weir.token')")).isNull();
        assertThat(browser.count("dialog[open]")).isZero();
    }

    @Test
    void a_stale_change_is_reported_and_overwrites_nothing() throws Exception {
        open("policies/policy/partners");
        browser.await("the definition", () -> value().contains("limit: 200"));
        Caller other = run.caller(LiveRun.TOKEN);
        Reply faster = other.put(
                "/v1/policies/partners",
                "{\"limits\":[{\"algorithm\":\"gcra\",\"limit\":150,\"per\":\"1s\"}]}",
                "If-Match: \"1\"");
        assertThat(faster.status()).isEqualTo(200);

        browser.run("sessionStorage.setItem('weir.token', arguments[0])", LiveRun.TOKEN);
        write(value().replace("limit: 200", "limit: 300"));
        browser.find(".verdict", "Valid");
        browser.click("button", "Apply");
        browser.find(".meanwhile", "version 2 has been in force since");
        browser.find(".meanwhile del", "limit: 150");
        assertThat(other.get("/v1/policies/partners").header("ETag")).isEqualTo("\"2\"");

        browser.click("button", "Keep mine as a change of version 2");
        browser.click("button", "Apply");
        browser.find(".result", "In force as version 3");
        assertThat(other.get("/v1/policies/partners")
                        .json()
                        .at("/definition/limits/0/limit")
                        .asInt())
                .isEqualTo(300);
    }

    @Test
    void a_new_policy_is_added() throws Exception {
        browser.run("sessionStorage.setItem('weir.token', arguments[0])", LiveRun.TOKEN);
        open("policies/new/policy");
        browser.await("a template", () -> value().contains("my-policy"));
        write("id: from-the-page\nmatch: {client: nobody}\nlimits:\n- {unlimited: true}\n");
        browser.find(".verdict", "It would be added as version 1");
        browser.click("button", "Apply");
        browser.find(".result", "In force as version 1");
        browser.find(".rules a", "from-the-page");
        assertThat(run.caller(null).get("/v1/policies/from-the-page").status()).isEqualTo(200);
    }

    @Test
    void a_dead_letter_is_found_by_its_reason_and_replayed() {
        browser.run("sessionStorage.setItem('weir.token', arguments[0])", LiveRun.TOKEN);
        open("dead-letters");
        browser.find(".card .note", "2 of 2 on the topic");
        select("reason-filter", "NOT_JSON");
        browser.await("one reason", () -> browser.count("main tbody tr") == 1);
        browser.click("main summary", "bytes");
        assertThat(browser.find("main pre", "{").getText()).isEqualTo("{\"client\": <b>");
        browser.click(".pick", ":");
        browser.click("button", "Replay 1 selected");
        browser.find(".result", "1 sent again, 0 skipped.");
        browser.find(".tag", "sent again");
        browser.await("the same as a dead letter again", () -> {
            browser.click("button", "Refresh");
            return browser.count("main tbody tr") == 2;
        });
    }

    @Test
    void a_held_page_does_not_change_until_it_is_resumed() {
        open("overview");
        browser.find("#pulse", "live");
        browser.await("decisions", () -> browser.text(".figure:first-child b").matches("[1-9][0-9,]*/s"));
        browser.click("#pause", "Pause");
        String held = browser.find("#pulse", "held").getText();
        String figures = browser.text(".figures");
        browser.run("window.row = document.querySelector('main table')");
        browser.run("window.events = 0; const parse = JSON.parse; JSON.parse = text => (window.events++, parse(text))");
        browser.await("more events", () -> (Long) browser.run("return window.events") > 3);
        assertThat(browser.text(".figures")).isEqualTo(figures);
        assertThat(browser.run("return row.isConnected"))
                .as("nothing is drawn again")
                .isEqualTo(true);
        browser.run("location.hash = '#/instances'");
        browser.find(".instance", "RUNNING");
        assertThat(browser.text("#pulse")).isEqualTo(held);
        browser.click("#pause", "Resume");
        browser.find("#pulse", "live");
    }

    @ParameterizedTest
    @ValueSource(strings = {"overview", "queues", "policies/policy/search"})
    void the_keyboard_reaches_each_control_in_order_and_shows_where_it_is(String view) {
        open(view);
        browser.find("#pulse", "live");
        browser.await("content", () -> browser.count("main table, main .tiers, main .versions li") > 0);
        browser.run("document.getElementById('pause').click()"); // nothing is redrawn
        assertThat(probe.keyboardFaults()).isEmpty();
    }

    @Test
    void the_keyboard_reaches_everything() {
        open("overview");
        browser.find("#pulse", "live");
        browser.press(Keys.TAB);
        assertThat(focused()).isEqualTo("skip");
        browser.press(Keys.ENTER);
        assertThat(focused()).isEqualTo("main");
        open("overview");
        browser.find("#pulse", "live");
        browser.press(Keys.TAB, Keys.TAB, Keys.TAB);
        assertThat(browser.run("return document.activeElement.innerText")).isEqualTo("Queues");
        assertThat((String) browser.run("return getComputedStyle(document.activeElement).outlineStyle"))
                .isEqualTo("solid");
        browser.press(Keys.ENTER);
        browser.find("h1", "Queues");
        assertThat(focused()).isEqualTo("main");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"overview", "queues", "client/acme", "policies/policy/free-articles", "instances", "dead-letters"
            })
    void nothing_is_wider_than_a_phone(String view) {
        browser.size(PHONE_WIDTH, HEIGHT);
        open(view);
        browser.find("#pulse", "live");
        browser.await("content", () -> browser.count("main table, main .tiers, main .cells, main .versions li") > 0);
        assertThat((Boolean) browser.run("return document.scrollingElement.scrollWidth <= innerWidth"))
                .isTrue();
    }

    @Test
    void the_dark_theme_has_other_colours_and_stays_if_chosen() {
        String light = background();
        browser.prefer("dark");
        browser.await("dark", () -> !background().equals(light));
        String dark = background();
        browser.prefer("light");
        browser.click("#theme", "Dark");
        assertThat(background()).isEqualTo(dark);
        browser.reload();
        browser.await("dark still", () -> background().equals(dark));
        browser.click("#theme", "Light");
        assertThat(background()).isEqualTo(light);
    }

    @Test
    void text_has_enough_contrast_and_views_have_no_barriers() throws IOException {
        String light = background();
        for (String view : List.of(
                "overview",
                "queues",
                "client",
                "client/acme",
                "policies",
                "policies/policy/free-articles",
                "instances",
                "dead-letters")) {
            open(view);
            browser.await(
                    "content", () -> browser.count("main table, main .tiers, main .cells, main .versions li") > 0);
            assertThat(probe.textWithLittleContrast()).as(view).isEmpty();
            assertThat(probe.barriers()).as(view).isEmpty();
            browser.prefer("dark");
            browser.await("dark", () -> !background().equals(light));
            assertThat(probe.textWithLittleContrast()).as("dark " + view).isEmpty();
            browser.prefer("light");
            browser.await("light", () -> background().equals(light));
        }
    }

    @Test
    void a_lost_stream_is_reported_and_reconnected() {
        WeirService other = run.openAnother("127.0.0.1", 0);
        int port = other.port();
        browser.go(LiveRun.url(other));
        browser.find("#pulse", "live");
        other.close();
        browser.find("#banner", "The live feed is disconnected");
        browser.find("#pulse", "disconnected");
        browser.complaints(); // about the closed service
        try (WeirService again = run.openAnother("127.0.0.1", port)) {
            assertThat(again.port()).isEqualTo(port);
            browser.find("#pulse", "live");
            browser.await("no banner", () -> browser.text("#banner").isEmpty());
            browser.complaints();
            browser.go("about:blank");
        }
    }

    @Test
    void a_hidden_page_closes_its_connection_until_it_is_visible() {
        open("overview");
        browser.find("#pulse", "live");
        browser.run("""
                const start = window.setTimeout;
                window.setTimeout = (task, ms) => start(task, ms === 30_000 ? 100 : ms); // does not wait for 30 s""");
        browser.run("window.another = open('about:blank')");
        try {
            browser.await("hidden", () -> (Boolean) browser.run("return document.hidden"));
            browser.await("paused", () -> browser.text("#pulse").equals("paused"));
            assertThat(browser.text("#banner")).isEmpty();
        } finally {
            browser.run("another.close()");
        }
        browser.find("#pulse", "live");
        assertThat(browser.text("#banner")).isEmpty();
    }

    @Test
    void missing_figures_are_reported() {
        try (FixedFigures reported = new FixedFigures()) {
            browser.go(reported.url());
            browser.find("#banner", "The figures are more than 16s old");
            browser.find("#banner", "The figures of some instances are missing: a clock may be behind.");
            browser.find("#pulse", "live");
            assertThat(browser.text(".figures"))
                    .containsPattern("Waiting\\s+4,711")
                    .containsPattern("p99\\s+> 1m\\s+p50 ≤ 5ms")
                    .containsPattern("Lag\\s+–\\s+unknown for some partitions");
            assertThat(probe.lastDrawn("Decision latency")).isEqualTo(List.of(5L, 60_001L));
            assertThat(probe.legend("Decision latency")).isEqualTo("p50 ≤ 5ms p99 > 1m");
            assertThat(probe.axis("Decision latency")).startsWith("1ms, 10ms, 100ms, 1s, 10s");
            assertThat(probe.lastDrawn("Lag")).isEqualTo(Collections.singletonList(null));
            assertThat(probe.axis("Lag")).isEqualTo("0, 1");

            browser.find("main .card .note", "in the last five minutes, since ");
            browser.find("main .card .note", "; estimates");
            browser.find("main .card .fault", "The figures of b:1 are missing.");
            browser.find("main tbody th a", "5 minutes");

            browser.click(".ranges button", "24h");
            browser.find("main .card .note", "in the last 24 hours, since ");
            browser.find("main tbody th a", "1440 minutes");
            browser.find(".ranges", "The history of b:1 is missing.");
            browser.await("minutes as means per second", () -> List.of(2L, 0L, 0L, 0L)
                    .equals(probe.lastDrawn("Decisions per second, the last 24 hours")));
            browser.click(".chart summary", "As a table");
            browser.find(".chart tbody tr", "2/s");
            browser.click(".ranges button", "5m");
            browser.await("seconds again", () -> List.of(9L, 0L, 0L, 0L)
                    .equals(probe.lastDrawn("Decisions per second, the last five minutes")));

            browser.go(reported.url() + "#/instances");
            browser.find(".instance .note", "version 1.2.3 · up 3h 7m");

            browser.go(reported.url() + "#/queues");
            browser.find("main .note", "1 of 25 queues: those with the most waiting requests");
            assertThat(browser.find(".facts", "Wait p99").getText())
                    .containsPattern("Wait p99, last minute\\s+> 30m")
                    .containsPattern("Slots in use\\s+4 of 10, at most 3 per key")
                    .containsPattern("In flight\\s+3")
                    .containsPattern("Oldest in flight\\s+1m 15s")
                    .containsPattern("Waiting for a retry\\s+2");
            browser.find(".tiers", "priority 1 · weight 2 · 4 in flight");
            browser.go("about:blank");
        }
    }

    @Test
    void beyond_loopback_reading_requires_the_token() {
        try (WeirService other = run.openAnother("0.0.0.0", 0)) {
            browser.go(LiveRun.url(other));
            browser.find("#token-why", "this request needs a token");
            browser.write("#token-field", LiveRun.TOKEN);
            browser.click("dialog button", "Use token");
            browser.find("#pulse", "live");
            browser.find("main table", "free-articles");
            browser.go("about:blank");
        }
    }

    /** Returns the tiers of the queue that has some. */
    private static String tiers() {
        return (String) browser.run("""
                return [...document.querySelectorAll('.tiers')].map(tiers => tiers.innerText.replaceAll(/\\s+/g, ' ').trim())
                    .find(text => text.includes('silver')) ?? ''""");
    }

    private static String keys() {
        return (String)
                browser.run("return document.querySelector('.keys')?.innerText.replaceAll(/\\s+/g, ' ').trim() ?? ''");
    }

    private static String value() {
        return (String) browser.run("return document.getElementById('definition')?.value ?? ''");
    }

    private static void write(String definition) {
        browser.write("#definition", definition);
    }

    private static String focused() {
        return (String) browser.run("return document.activeElement.id");
    }

    private static String background() {
        return (String) browser.run("return getComputedStyle(document.body).backgroundColor");
    }
}
