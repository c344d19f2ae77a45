package dev.weir.page;

import java.io.File;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.openqa.selenium.Keys;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.StaleElementReferenceException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;
import org.openqa.selenium.support.ui.WebDriverWait;

/** A headless Chromium that is driven through ChromeDriver. */
final class Browser implements AutoCloseable {

    static final String WHAT_IT_NEEDS =
            "the live page is not tested: install chromium and chromedriver (Debian: apt-get install chromium-driver)";

    private static final Duration PATIENCE = Duration.ofMinutes(3);

    /** Finds the first visible element that matches a selector and contains a text. */
    private static final String FIND = """
            const element = [...document.querySelectorAll(arguments[0])].find(one =>
                one.checkVisibility({opacityProperty: true, visibilityProperty: true})
                && one.getClientRects().length > 0 && (one.innerText ?? '').includes(arguments[1]));
            """;

    /** Returns the centre of this element; null if there is none. */
    private static final String CENTRE = FIND + """
            element?.scrollIntoView({block: 'nearest'});
            const box = element?.getBoundingClientRect();
            return box && [Math.floor(box.left + box.width / 2), Math.floor(box.top + box.height / 2)]""";

    private final ChromeDriver driver;

    private Browser(ChromeDriver driver) {
        this.driver = driver;
    }

    static boolean isThere() {
        return chromium().isPresent() && chromedriver().isPresent();
    }

    /** @throws IllegalStateException if chromium or chromedriver is not installed */
    static Browser open() {
        if (!isThere()) {
            throw new IllegalStateException(WHAT_IT_NEEDS);
        }
        LoggingPreferences logs = new LoggingPreferences();
        logs.enable(LogType.BROWSER, Level.ALL);
        ChromeOptions options = new ChromeOptions();
        options.setBinary(chromium().orElseThrow());
        options.addArguments(
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars");
        options.setCapability(ChromeOptions.LOGGING_PREFS, logs);
        ChromeDriverService service = new ChromeDriverService.Builder()
                .usingDriverExecutable(chromedriver().orElseThrow())
                .build();
        ChromeDriver driver = new ChromeDriver(service, options);
        driver.manage().timeouts().scriptTimeout(PATIENCE);
        return new Browser(driver);
    }

    private static Optional<File> chromium() {
        return onPath("chromium", "chromium-browser", "google-chrome");
    }

    private static Optional<File> chromedriver() {
        return onPath("chromedriver");
    }

    private static Optional<File> onPath(String... names) {
        String path = Optional.ofNullable(System.getenv("PATH")).orElse("");
        return Stream.of(names)
                .flatMap(name -> Stream.of(path.split(File.pathSeparator)).map(place -> new File(place, name)))
                .filter(File::canExecute)
                .findFirst();
    }

    /** Loads a URL, even if it differs from the current one only in its hash. */
    void go(String url) {
        driver.get("about:blank");
        driver.get(url);
    }

    void reload() {
        driver.navigate().refresh();
    }

    void size(int width, int height) {
        driver.executeCdpCommand(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
    }

    /** @param scheme the color scheme that the system prefers, {@code light} or {@code dark} */
    void prefer(String scheme) {
        driver.executeCdpCommand(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
    }

    /** @param body the body of a JavaScript function, which reads its arguments from {@code arguments} */
    Object run(String body, Object... arguments) {
        return driver.executeScript(body, arguments);
    }

    String text(String css) {
        return String.valueOf(run("return document.querySelector(arguments[0])?.innerText ?? ''", css));
    }

    long count(String css) {
        return (Long) run("return document.querySelectorAll(arguments[0]).length", css);
    }

    /**
     * Waits for a visible element that matches the selector and contains the text; returns the first one. A single script
     * looks at all: on a slow machine, the page, which redraws each second, could otherwise replace them each time.
     */
    WebElement find(String css, String text) {
        return new WebDriverWait(driver, PATIENCE)
                .withMessage(() -> "no " + css + " with '" + text + "' in: " + text("body"))
                .until(it -> (WebElement) run(FIND + "return element", css, text));
    }

    /** Moves the pointer to an element. A single script finds its place. */
    void point(String css, String text) {
        find(css, text);
        List<?> centre = new WebDriverWait(driver, PATIENCE).until(it -> (List<?>) run(CENTRE, css, text));
        new Actions(driver)
                .moveToLocation(((Long) centre.get(0)).intValue(), ((Long) centre.get(1)).intValue())
                .perform();
    }

    /** Clicks an element. Points to its place first, because the page does not redraw a list under the pointer. */
    void click(String css, String text) {
        point(css, text);
        retryIfRedrawn(() -> find(css, text).click());
    }

    private void retryIfRedrawn(Runnable action) {
        new WebDriverWait(driver, PATIENCE)
                .ignoring(StaleElementReferenceException.class)
                .until(it -> {
                    action.run();
                    return true;
                });
    }

    void press(CharSequence... keys) {
        new Actions(driver).sendKeys(keys).perform();
    }

    /** Selects the content of an input element and types over it. */
    void write(String css, String text) {
        find(css, "").sendKeys(Keys.chord(Keys.CONTROL, "a"), text);
    }

    void await(String what, BooleanSupplier condition) {
        new WebDriverWait(driver, PATIENCE)
                .withMessage(() -> what + ", in: " + text("body"))
                .until(it -> condition.getAsBoolean());
    }

    byte[] picture() {
        return driver.getScreenshotAs(OutputType.BYTES);
    }

    /** Returns the warnings and errors that the console has logged since the last call. */
    List<String> complaints() {
        return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
                .filter(entry -> entry.getLevel().intValue() >= Level.WARNING.intValue())
                .map(LogEntry::getMessage)
                .toList();
    }

    @Override
    public void close() {
        driver.quit();
    }
}
