package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.JavaProcess;
import dev.weir.app.Backtest;
import dev.weir.app.KafkaSettings;
import dev.weir.app.Sender;
import dev.weir.app.TopicReader;
import dev.weir.app.TopicSetup;
import dev.weir.codec.DecisionJson;
import dev.weir.codec.NdjsonLines;
import dev.weir.codec.PolicyFile;
import dev.weir.codec.RequestJson;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.policy.Decision;
import dev.weir.policy.Outcome;
import dev.weir.policy.Request;
import dev.weir.shape.Release;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every request comes twice, and an enforcer that answers them is killed in between, again and again. */
class RepeatCrashTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int REQUESTS = 1_500;
    private static final int KILLS = 3;

    private static final String POLICIES = """
            policies:
              - id: calls
                match: {endpoint: /calls}
                limits: [{algorithm: sliding-window-log, limit: 100, per: 1h}]
                idempotency: 10m
              - {id: sms, match: {endpoint: /sms}, queue: sms, idempotency: 10m}
            queues: [{id: sms, limit: 1000, per: 1s}]
            """;

    @TempDir
    Path directory;

    private final List<Decision> decisions = new ArrayList<>();
    private final List<Release> releases = new ArrayList<>();

    @Test
    void each_request_is_charged_or_released_once_and_answered_twice_alike() throws Exception {
        List<String> lines = requests();
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
            Path settings = Files.writeString(directory.resolve("weir.yaml"), """
                    state: {directory: "%s"}
                    kafka: {bootstrap.servers: "%s"}
                    """.formatted(
                            directory.resolve("weir-state"), broker.bootstrapServers()));
            Path policies = Files.writeString(directory.resolve("policies.yaml"), POLICIES);
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.CREATE);
            }
            assertThat(Shell.run("policies", "apply", "-c", settings.toString(), policies.toString())
                            .exit())
                    .isZero();
            runAndKill(lines, config, settings);
        }

        Map<String, List<Decision>> byId = decisions.stream().collect(Collectors.groupingBy(Decision::requestId));
        assertThat(byId).hasSize(REQUESTS);
        byId.values().forEach(pair -> {
            assertThat(pair).extracting(Decision::repeated).containsExactlyInAnyOrder(false, true);
            Decision first = pair.get(pair.get(0).repeated() ? 1 : 0);
            Decision again = pair.get(pair.get(0).repeated() ? 0 : 1);
            assertThat(again).isEqualTo(first.again(again.source()));
        });
        assertThat(decisions).filteredOn(d -> d.outcome() == Outcome.DENIED).hasSizeGreaterThan(100);
        assertThat(releases)
                .extracting(Release::requestId)
                .containsExactlyInAnyOrderElementsOf(decisions.stream()
                        .filter(decision -> decision.outcome() == Outcome.QUEUED && !decision.repeated())
                        .map(Decision::requestId)
                        .toList());
        assertThat(calls(json(decisions))).containsExactlyInAnyOrderElementsOf(calls(backtest(lines)));
    }

    /** Each request is followed by a repeat, sooner or later. */
    private static List<String> requests() {
        Random random = new Random(1);
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            ids.add("r" + i);
        }
        for (int i = REQUESTS - 1; i >= 0; i--) {
            ids.add(Math.min(ids.size(), i + 1 + random.nextInt(random.nextBoolean() ? 5 : 700)), "r" + i);
        }
        long startMs = System.currentTimeMillis();
        List<String> lines = new ArrayList<>();
        for (String id : ids) {
            int number = Integer.parseInt(id.substring(1));
            lines.add("{\"requestId\":\"%s\",\"client\":\"c%d\",\"timestamp\":%d,\"attributes\":{\"endpoint\":\"%s\"}}"
                    .formatted(id, number % 7, startMs + lines.size(), number % 3 == 0 ? "/sms" : "/calls"));
        }
        return lines;
    }

    private void runAndKill(List<String> lines, WeirConfig config, Path settings) throws Exception {
        try (TopicReader<Decision> decided = TopicReader.decisions(config, TopicReader.From.BEGINNING, true);
                TopicReader<Release> released = TopicReader.releases(config, TopicReader.From.BEGINNING, true);
                Sender sender = new Sender(config)) {
            int sent = 0;
            for (int life = 0; life <= KILLS; life++) {
                Process weir = start(settings);
                try {
                    int share = lines.size() * (life + 1) / (KILLS + 1);
                    int some = (sent + share) / 2; // so it dies with work behind it and before it
                    for (; sent < share; sent++) {
                        sender.send(RequestJson.read(lines.get(sent), 0, new Request.Source(0, 0)));
                    }
                    if (life < KILLS) {
                        await(decided, released, () -> decisions.size() >= some);
                    } else {
                        await(decided, released, () -> decisions.size() >= lines.size() && releases.size() >= queued());
                        weir.destroy(); // it commits what it still has to say
                        assertThat(weir.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                                .isTrue();
                        poll(decided, released, Duration.ofSeconds(1));
                    }
                } finally {
                    weir.destroyForcibly().waitFor();
                }
            }
        }
    }

    private long queued() {
        return decisions.stream()
                .filter(decision -> decision.outcome() == Outcome.QUEUED && !decision.repeated())
                .count();
    }

    private void await(TopicReader<Decision> decided, TopicReader<Release> released, BooleanSupplier until) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!until.getAsBoolean() && System.nanoTime() - deadline < 0) {
            poll(decided, released, Duration.ofMillis(20));
        }
        assertThat(until.getAsBoolean())
                .as("%d decisions, %d releases", decisions.size(), releases.size())
                .isTrue();
    }

    private void poll(TopicReader<Decision> decided, TopicReader<Release> released, Duration timeout) {
        decided.poll(timeout, decisions::add);
        released.poll(timeout, releases::add);
    }

    private static List<String> json(List<Decision> decisions) throws IOException {
        StringWriter out = new StringWriter();
        try (DecisionJson json = new DecisionJson(out)) {
            for (Decision decision : decisions) {
                json.write(decision);
            }
        }
        return out.toString().lines().toList();
    }

    private static List<String> backtest(List<String> lines) throws Exception {
        StringWriter out = new StringWriter();
        byte[] text = String.join("\n", lines).getBytes(StandardCharsets.UTF_8);
        try (DecisionJson json = new DecisionJson(out)) {
            new Backtest(PolicyFile.read("policies.yaml", POLICIES), WeirConfig.DEFAULTS, Clock.systemUTC())
                    .run(new NdjsonLines("requests", new ByteArrayInputStream(text)), json, null);
        }
        return out.toString().lines().toList();
    }

    /** Those that no queue has answered, without where they were read. */
    private static List<String> calls(List<String> decisions) {
        return decisions.stream()
                .filter(line -> line.contains("\"policyId\":\"calls\""))
                .map(line -> line.replaceAll(",\"sourcePartition\".*", ""))
                .toList();
    }

    private Process start(Path settings) throws IOException {
        return JavaProcess.of(List.of(), Main.class, "run", "-c", settings.toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        directory.resolve("log").toFile()))
                .start();
    }
}
