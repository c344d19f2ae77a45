package dev.weir.failure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.cli.Main;
import dev.weir.dev.JavaProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** What {@code weir audit} says of a cluster, as an operator runs it. */
final class AuditProcess {

    private static final List<String> COUNTED = List.of("requests", "summed");

    private AuditProcess() {}

    /** @param settings of an enforcer */
    static Finding run(Path settings, Path directory) throws IOException, InterruptedException {
        Path out = directory.resolve("audit.json");
        int exit = JavaProcess.of(
                        List.of("-Xmx512m"), Main.class, "audit", "-c", settings.toString(), "--json", "--most", "20")
                .redirectOutput(out.toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start()
                .waitFor();
        Finding.Notes notes = new Finding.Notes("9 weir audit", COUNTED.toArray(String[]::new));
        List<String> lines = Files.readAllLines(out);
        if (exit != 0) {
            notes.fault("exit code " + exit);
            lines.forEach(notes::fault);
            return notes.done();
        }
        JsonNode totals = new ObjectMapper().readTree(lines.get(lines.size() - 1));
        COUNTED.forEach(what -> notes.count(what, totals.get(what).asLong()));
        totals.get("notJudged")
                .properties()
                .forEach(why -> notes.count(
                        "not judged: " + why.getKey(), why.getValue().asLong()));
        return notes.done();
    }
}
