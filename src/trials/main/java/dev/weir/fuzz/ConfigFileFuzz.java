package dev.weir.fuzz;

import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.fault.FaultsException;
import dev.weir.topology.StreamsSettings;
import java.util.List;
import java.util.Map;

/**
 * A fuzz case with a configuration file, which is accepted and then yields Kafka settings, or
 * has faults with a line each.
 */
final class ConfigFileFuzz implements FuzzRunner.Case {

    private final List<String> valid;

    ConfigFileFuzz(List<String> valid) {
        this.valid = valid;
    }

    @Override
    public void run(FuzzCase fuzzCase) throws Exception {
        String text = TextMutation.of(valid, fuzzCase.random());
        WeirConfig config;
        try {
            config = fuzzCase.within(
                    AllocationLimit.text(text),
                    () -> ConfigFile.read("fuzz.yaml", text, Map.of("HOME", "/home/weir", "WEIR_JAAS", "secret")));
        } catch (FaultsException e) {
            PolicyFileFuzz.requireClear(e.faults(), text);
            fuzzCase.came("refused");
            return;
        }
        StreamsSettings.deciding(config);
        StreamsSettings.shaping(config);
        config.requests().rules();
        fuzzCase.came("accepted");
    }
}
