package dev.weir.gateway.envoy;

import dev.weir.definition.YamlTree;
import dev.weir.fault.Faults;
import dev.weir.fault.FaultsException;

/** The section {@code envoy} as text. */
public final class SectionText {

    private SectionText() {}

    public static EnvoyConfig read(String yaml) throws FaultsException {
        Faults faults = new Faults("gateway.yaml");
        EnvoyConfig config = EnvoySection.read(YamlTree.read(yaml, faults));
        faults.throwIfAny();
        return config;
    }
}
