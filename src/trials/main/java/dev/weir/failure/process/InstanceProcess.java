package dev.weir.failure.process;

import static dev.weir.testing.Await.await;

import dev.weir.cli.Main;
import dev.weir.testing.ChildProcess;
import dev.weir.testing.JavaProcess;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.common.utils.Utils;
import org.awaitility.core.ConditionTimeoutException;

/** An enforcer: {@code weir run} in a process with its own state directory. */
public final class InstanceProcess extends ChildProcess {

    private static final String READY = "weir is ready";
    private static final Duration READY_PATIENCE = Duration.ofMinutes(3);
    private static final Pattern SERVICE = Pattern.compile("API on (http://\\S+)/v1");
    private static final Pattern HEALTH = Pattern.compile("health on (http://[^\\s,]+)");
    private static final Duration ANSWERS_WITHIN = Duration.ofSeconds(30);

    private final Setup setup;
    private final Path settings;
    private final Path state;
    private final HttpClient http = HttpClient.newHttpClient();
    private Optional<ProcessClock> clock = Optional.empty();
    private long logBefore;

    /**
     * The setup of an instance.
     *
     * @param shell a command that runs the command of the instance; empty for none
     * @param options options of the JVM
     * @param sections entries of further sections of the configuration, by section; the directory of {@code state} is set
     * @param kafka entries of the {@code kafka} section
     */
    public record Setup(
            int partitions,
            List<String> shell,
            List<String> options,
            Map<String, Map<String, String>> sections,
            Map<String, String> kafka) {

        /** Returns the usual setup. */
        static Setup of(int partitions, Map<String, Map<String, String>> sections, Map<String, String> kafka) {
            return new Setup(partitions, List.of(), List.of("-Xmx384m", "-XX:+UseSerialGC"), sections, kafka);
        }
    }

    /** @param kafka entries of the {@code kafka} section of the configuration */
    public InstanceProcess(String name, Path directory, int partitions, Map<String, String> kafka) throws IOException {
        this(name, directory, Setup.of(partitions, Map.of(), kafka));
    }

    /** @param sections entries of further sections of the configuration, by section */
    public InstanceProcess(
            String name,
            Path directory,
            int partitions,
            Map<String, Map<String, String>> sections,
            Map<String, String> kafka)
            throws IOException {
        this(name, directory, Setup.of(partitions, sections, kafka));
    }

    public InstanceProcess(String name, Path directory, Setup setup) throws IOException {
        super(name, directory.resolve(name + ".log"));
        this.setup = setup;
        state = directory.resolve(name);
        Map<String, Map<String, String>> sections = new LinkedHashMap<>(setup.sections);
        sections.merge("state", Map.of("directory", state.toString()), InstanceProcess::concat);
        sections.put("kafka", concat(Map.of("client.id", name), setup.kafka));
        settings = Files.writeString(
                directory.resolve(name + ".yaml"),
                "topics: {partitions: %d}%nservice: {port: 0}%n".formatted(setup.partitions)
                        + sections.entrySet().stream()
                                .filter(section -> !section.getValue().isEmpty())
                                .map(section -> section(section.getKey(), section.getValue()))
                                .collect(Collectors.joining()));
    }

    private static String scalar(String value) {
        return value.equals("true") || value.equals("false") ? value : "\"" + value + "\"";
    }

    private static Map<String, String> concat(Map<String, String> some, Map<String, String> others) {
        Map<String, String> all = new LinkedHashMap<>(some);
        all.putAll(others);
        return all;
    }

    private static String section(String name, Map<String, String> entries) {
        return name + ":\n"
                + entries.entrySet().stream()
                        .map(entry -> "  %s: %s%n".formatted(entry.getKey(), scalar(entry.getValue())))
                        .collect(Collectors.joining());
    }

    /** Sets the wall clock of the process, from its next start on. */
    public void runBy(ProcessClock wallClock) {
        clock = Optional.of(wallClock);
    }

    @Override
    protected ProcessBuilder command() throws IOException {
        ProcessBuilder process = JavaProcess.of(setup.options, Main.class, "run", "-c", settings.toString());
        List<String> command = new ArrayList<>(setup.shell);
        command.addAll(process.command());
        process.command(command);
        if (clock.isPresent()) {
            clock.get().startIn(process);
        }
        return process;
    }

    /** Returns the configuration file. */
    public Path settings() {
        return settings;
    }

    public Path state() {
        return state;
    }

    @Override
    public void start() throws IOException {
        logBefore = Files.exists(log()) ? Files.size(log()) : 0;
        super.start();
    }

    /** Waits until the instance logs that it is ready. */
    public void awaitReady() throws IOException, InterruptedException {
        try {
            await(name() + " is ready", READY_PATIENCE, () -> {
                checkAlive();
                return saidSinceStart().contains(READY);
            });
        } catch (ConditionTimeoutException e) {
            throw new IllegalStateException(name() + " is not ready:\n" + saidSinceStart(), e);
        }
    }

    /**
     * Returns whether the instance reports that it is ready, at the address that it logged last; false if it does
     * not respond.
     */
    public boolean isReady() throws IOException, InterruptedException {
        return health().filter(answer -> answer.statusCode() == 200).isPresent();
    }

    /** Returns the wall clock of the process, from the date of an HTTP response, in whole seconds. */
    public Instant wallClock() throws IOException, InterruptedException {
        String date = health().flatMap(answer -> answer.headers().firstValue("date"))
                .orElseThrow(() -> new IllegalStateException(name() + " does not respond"));
        return Instant.from(DateTimeFormatter.RFC_1123_DATE_TIME.parse(date));
    }

    private Optional<HttpResponse<Void>> health() throws IOException, InterruptedException {
        Optional<String> address = said(SERVICE);
        if (address.isEmpty()) {
            return Optional.empty();
        }
        HttpRequest question = HttpRequest.newBuilder(URI.create(address.get() + "/health/ready"))
                .timeout(ANSWERS_WITHIN)
                .build();
        try {
            return Optional.of(http.send(question, HttpResponse.BodyHandlers.discarding()));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Returns the URL of the service. */
    public URI serviceUrl() throws IOException {
        return URI.create(said(SERVICE).orElseThrow());
    }

    /** Returns the URL of the readiness check on the port for health checks. */
    public URI healthUrl() throws IOException {
        return URI.create(said(HEALTH).orElseThrow());
    }

    /** Returns the last match in the output since the last start. */
    private Optional<String> said(Pattern what) throws IOException {
        return what.matcher(saidSinceStart())
                .results()
                .map(said -> said.group(1))
                .reduce((before, after) -> after);
    }

    /** Returns the output since the last start. */
    public String saidSinceStart() throws IOException {
        try (var in = Files.newInputStream(log())) {
            in.skipNBytes(logBefore);
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Returns how often the instance has logged that it takes over from another one before its session ends. */
    public long takeovers() throws IOException {
        try (var lines = Files.lines(log())) {
            return lines.filter(line -> line.endsWith(": its partitions are taken over"))
                    .count();
        }
    }

    /** Deletes the state directory, as if the disk were lost. */
    public void deleteState() throws IOException {
        Utils.delete(state.toFile());
    }
}
