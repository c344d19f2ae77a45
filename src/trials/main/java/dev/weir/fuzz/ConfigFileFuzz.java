package dev.weir.fuzz;

import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.fault.FaultsException;
import dev.weir.topics.KafkaSettings;
import java.util.List;
import java.util.Map;

/** Configuration files: each is taken, and then applications can be set up by it, or each of its faults has a place. */
final class ConfigFileFuzz implements FuzzRunner.Case {

    private final List<String> valid;

    ConfigFileFuzz(List<String> valid) {
        this.valid = valid;
    }

    @Override
    public void run(FuzzCase trial) throws Exception {
        String text = TextMutation.of(valid, trial.random());
        WeirConfig config;
        try {
            config = trial.within(
                    AllocationLimit.text(text), () -> ConfigFile.read("fuzz.yaml", text, Map.of("HOME", "/home/weir")));
        } catch (FaultsException e) {
            PolicyFileFuzz.requireClear(e.faults(), text);
            trial.came("refused");
            return;
        }
        KafkaSettings.deciding(config);
        KafkaSettings.shaping(config);
        config.requests().rules();
        trial.came("accepted");
    }
}
