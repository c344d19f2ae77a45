package dev.weir.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProgressLineTest {

    @Test
    void the_line_is_drawn_once_for_each_percent() {
        ByteArrayOutputStream terminal = new ByteArrayOutputStream();
        try (ProgressLine line =
                new ProgressLine(new PrintStream(terminal, true, StandardCharsets.UTF_8), "Decided", 3_000)) {
            for (int step = 0; step < 3_000; step++) {
                line.step();
            }
        }
        List<String> drawn = terminal.toString(StandardCharsets.UTF_8).lines().toList();
        assertThat(drawn)
                .hasSize(102)
                .startsWith("", "Decided   0% [" + " ".repeat(50) + "] 0/3,000")
                .contains("Decided  50% [" + "=".repeat(25) + " ".repeat(25) + "] 1,500/3,000")
                .endsWith("Decided 100% [" + "=".repeat(50) + "] 3,000/3,000");
    }
}
