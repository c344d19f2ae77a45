package dev.weir.page;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openqa.selenium.WebElement;

/**
 * A command that takes the screenshots in {@code topology-docs/live} after a run of five minutes:
 * {@code mvn -q -Ptrials compile exec:java -Dmain.class=dev.weir.page.LivePagePictures}
 */
final class LivePagePictures {

    private static final int WIDTH = 1280;
    private static final int HEIGHT = 820;
    private static final int PHONE_WIDTH = 360;
    private static final int PHONE_HEIGHT = 780;
    private static final long BEFORE_S = 300;

    private static final String HIGH_WATER = """
            return [...document.querySelectorAll('.tank')]
                .some(tank => [...tank.children].reduce((sum, layer) => sum + layer.offsetHeight, 0) > 50)""";

    private LivePagePictures() {}

    /**
     * @param arguments the directory of the screenshots, and the seconds to run before taking them; both are optional
     */
    public static void main(String[] arguments) throws Exception {
        Path pictures = Files.createDirectories(Path.of(arguments.length == 0 ? "topology-docs/live" : arguments[0]));
        Path state = Files.createTempDirectory("weir-pictures");
        try (Browser browser = Browser.open();
                LiveRun run = new LiveRun(state, "scraper")) {
            TimeUnit.SECONDS.sleep(arguments.length < 2 ? BEFORE_S : Long.parseLong(arguments[1]));
            take(browser, run, pictures);
        }
        System.exit(0); // does not wait for the threads of the broker
    }

    private static void take(Browser browser, LiveRun run, Path pictures) throws Exception {
        browser.size(WIDTH, HEIGHT);
        browser.prefer("light");
        browser.go(run.url());
        browser.find("main table", LiveRun.GREEDY);
        Files.write(pictures.resolve("overview.png"), browser.picture());

        browser.go(run.url() + "#/client/" + LiveRun.GREEDY);
        browser.find("tbody tr", "Denied");
        browser.find("#pulse", "live");
        Files.write(pictures.resolve("client.png"), browser.picture());

        browser.go(run.url() + "#/policies/policy/free-articles");
        browser.find(".verdict", "Identical to the definition in force");
        browser.find(".versions", "Version 1");
        WebElement definition = browser.find("#definition", "");
        browser.write("#definition", definition.getDomProperty("value").replace("limit: 5\n", "limit: 3\n"));
        browser.find(".verdict", "Valid");
        browser.click("button", "5m");
        browser.find(".result table", "Denied");
        browser.size(WIDTH, HEIGHT + HEIGHT / 2);
        browser.run("scrollTo(0, 0)");
        Files.write(pictures.resolve("policies.png"), browser.picture());

        browser.size(WIDTH, HEIGHT);
        browser.prefer("dark");
        browser.go(run.url() + "#/queues");
        browser.await("a queue with a visible backlog", () -> (Boolean) browser.run(HIGH_WATER));
        Files.write(pictures.resolve("queues.png"), browser.picture());

        browser.size(PHONE_WIDTH, PHONE_HEIGHT);
        browser.go(run.url());
        browser.find("main table", LiveRun.GREEDY);
        Files.write(pictures.resolve("phone.png"), browser.picture());
    }
}
