package dev.weir.failure.check;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.cli.Main;
import dev.weir.testing.JavaProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** A run of {@code weir audit} on a cluster, in its own process as an operator starts it. */
public final class AuditProcess {

    private static final List<String> COUNTED = List.of("requests", "summed");

    private AuditProcess() {}

    /** @param settings the configuration file of an enforcer */
    public static Breach run(Path settings, Path directory) throws IOException, InterruptedException {
        Path out = directory.resolve("audit.json");
        int exit = JavaProcess.of(
                        List.of("-Xmx512m"),
                        Main.class,
                        "audit",
                        "-c",
                        settings.toString(),
                        "-o",
                        "json",
                        "--max-mismatches",
                        "20")
                .redirectOutput(out.toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start()
                .waitFor();
        Breach.Notes notes = new Breach.Notes("9 weir audit", COUNTED.toArray(String[]::new));
        JsonNode audit = new ObjectMapper().readTree(out.toFile());
        if (exit != 0) {
            notes.fault("exit code " + exit);
            audit.path("firstMismatches").forEach(mismatch -> notes.fault(mismatch.toString()));
            return notes.done();
        }
        COUNTED.forEach(what -> notes.count(what, audit.get(what).asLong()));
        Map<UnverifiedReason, Long> unjudged = new EnumMap<>(UnverifiedReason.class);
        audit.get("notJudged")
                .properties()
                .forEach(why -> unjudged.put(
                        UnverifiedReason.valueOf(why.getKey()), why.getValue().asLong()));
        unjudged.forEach((why, count) -> notes.count("not judged: " + why, count));
        double share = VerifiableShare.of(audit.get("requests").asLong(), unjudged);
        if (share < VerifiableShare.LEAST) {
            notes.fault("only " + share + " of the requests can be judged: " + unjudged);
        }
        return notes.done();
    }
}
