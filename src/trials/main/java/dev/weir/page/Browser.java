package dev.weir.page;

import java.io.File;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.openqa.selenium.By;
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

/** Chromium without a window, that does what a user does. */
final class Browser implements AutoCloseable {

    static final String WHAT_IT_NEEDS =
            "the live page is tried in Chromium: install chromium and chromedriver (Debian: apt-get install chromium-driver)";

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final ChromeDriver driver;

    private Browser(ChromeDriver driver) {
        this.driver = driver;
    }

    static boolean isThere() {
        return chromium().isPresent() && chromedriver().isPresent();
    }

    /** @throws IllegalStateException if there is none on this machine */
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
        return new Browser(new ChromeDriver(service, options));
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

    /** Loads it anew, also where only the hash differs. */
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

    /** @param scheme {@code light} or {@code dark}: what the system prefers */
    void prefer(String scheme) {
        driver.executeCdpCommand(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
    }

    /** @param body of a function, with its arguments as {@code arguments} */
    Object run(String body, Object... arguments) {
        return driver.executeScript(body, arguments);
    }

    String text(String css) {
        return String.valueOf(run("return document.querySelector(arguments[0])?.innerText ?? ''", css));
    }

    long count(String css) {
        return (Long) run("return document.querySelectorAll(arguments[0]).length", css);
    }

    /** The first that the selector finds and whose text this is in, once there is one. */
    WebElement find(String css, String text) {
        return new WebDriverWait(driver, PATIENCE)
                .withMessage(() -> "no " + css + " with '" + text + "' in: " + text("body"))
                .ignoring(StaleElementReferenceException.class)
                .until(it -> driver.findElements(By.cssSelector(css)).stream()
                        .filter(element ->
                                element.isDisplayed() && element.getText().contains(text))
                        .findFirst()
                        .orElse(null));
    }

    /** What is drawn anew each second may be gone before it is clicked on: then again. */
    void click(String css, String text) {
        new WebDriverWait(driver, PATIENCE)
                .ignoring(StaleElementReferenceException.class)
                .until(it -> {
                    find(css, text).click();
                    return true;
                });
    }

    void press(CharSequence... keys) {
        new Actions(driver).sendKeys(keys).perform();
    }

    /** Replaces all that is in it, as a user would. */
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

    /** What its console was told since it was last asked. */
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
