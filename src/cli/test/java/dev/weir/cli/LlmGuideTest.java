package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the commands of the guide to LLM traffic. */
@Tag("full")
class LlmGuideTest {

    private static final Path GUIDE = Path.of("topology-docs", "how-to", "llm.md");

    @TempDir
    Path directory;

    @Test
    void the_program_prints_what_the_guide_shows() throws Exception {
        try (CommandWalk walk = new CommandWalk(directory, GUIDE)) {
            walk.create("llm.yaml");
            walk.startWeir(walk.next(CommandWalk.WEIR + "run --dev --policies llm.yaml"));
            walk.create("llm.py");
            assertThat(walk.run(walk.next("python3 llm.py")))
                    .isEqualTo(ReadmeTest.blocks(GUIDE, "text").get(0));
            String budget = ReadmeTest.blocks(GUIDE, "text").get(1);
            walk.awaitOutput( // a refund reaches the ledger some time after the answer
                    budget.substring(0, budget.indexOf('…')).strip(),
                    walk.next("target/bin/weir usage key-1 ") + " --service http://" + walk.service());
            assertThat(walk.isFinished()).isTrue();
        }
    }
}
