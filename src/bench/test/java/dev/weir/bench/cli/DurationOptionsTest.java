package dev.weir.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.cli.Main;
import dev.weir.cli.option.DurationConverter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** Tests that durations have one form in all options of {@code weir} and {@code weir-bench}. */
class DurationOptionsTest {

    private static List<OptionSpec> durations(CommandLine command) {
        List<OptionSpec> found = new ArrayList<>();
        for (OptionSpec option : command.getCommandSpec().options()) {
            if (option.type() == Duration.class) {
                found.add(option);
            }
        }
        command.getSubcommands().values().forEach(sub -> found.addAll(durations(sub)));
        return found;
    }

    @Test
    void all_durations_are_read_and_shown_as_in_policy_files() {
        List<OptionSpec> all = durations(new CommandLine(new Main()));
        List<OptionSpec> ofBench = durations(new CommandLine(new BenchCommand()));
        assertThat(all).isNotEmpty();
        assertThat(ofBench).hasSizeGreaterThan(10);
        all.addAll(ofBench);
        for (OptionSpec option : all) {
            assertThat(option.converters())
                    .as(option.longestName())
                    .hasAtLeastOneElementOfType(CommandLine.ITypeConverter.class)
                    .allMatch(
                            converter -> converter.getClass().getName().startsWith(DurationConverter.class.getName()));
            assertThat(Arrays.toString(option.description()) + option.defaultValueString())
                    .as(option.longestName())
                    .doesNotContain("PT");
        }
    }
}
