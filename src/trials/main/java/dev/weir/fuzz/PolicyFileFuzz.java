package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.Decider;
import dev.weir.decision.MapStates;
import dev.weir.definition.DecodedPolicyRecord;
import dev.weir.definition.PolicyFile;
import dev.weir.definition.PolicyFile.Definition;
import dev.weir.event.Request;
import dev.weir.fault.Fault;
import dev.weir.fault.Faults;
import dev.weir.fault.FaultsException;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.wire.PolicyAvro;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A fuzz case with a policy file, which is accepted, decides requests and round-trips as records, or
 * has faults with a line each.
 */
final class PolicyFileFuzz implements FuzzRunner.Case {

    private static final int REQUESTS = 6;

    private final List<String> valid;

    PolicyFileFuzz(List<String> valid) {
        this.valid = valid;
    }

    @Override
    public void run(FuzzCase fuzzCase) throws Exception {
        String text = TextMutation.of(valid, fuzzCase.random());
        PolicyFile.Contents contents;
        try {
            contents = fuzzCase.within(AllocationLimit.text(text), () -> PolicyFile.read("fuzz.yaml", text));
        } catch (FaultsException e) {
            requireClear(e.faults(), text);
            fuzzCase.came("refused");
            return;
        }
        decide(contents, fuzzCase.random());
        for (Definition.PolicyDefinition definition : contents.policies()) {
            assertThat(written(definition).policies()).containsExactly(definition.policy());
        }
        for (Definition.QueueDefinition definition : contents.queues()) {
            assertThat(written(definition).queue()).isEqualTo(definition.queue());
        }
        fuzzCase.came("accepted");
    }

    private static DecodedPolicyRecord written(Definition definition) throws Exception {
        PolicyAvro.Applied applied =
                new PolicyAvro.Applied(definition.kind(), definition.id(), 1, definition.json(), 0);
        return DecodedPolicyRecord.read(applied.key(), new PolicyAvro().encode(applied), 0);
    }

    private static void decide(PolicyFile.Contents contents, SplittableRandom random) {
        PolicyTable table = contents.table();
        MapStates states = new MapStates();
        List<Policy> policies = contents.policies().stream()
                .map(Definition.PolicyDefinition::policy)
                .toList();
        for (int i = 0; i < REQUESTS; i++) {
            Request request = RequestSamples.forAny(policies, random);
            assertThat(Decider.local(states).decide(request, table)).isNotNull();
        }
    }

    static void requireClear(List<Fault> faults, String text) {
        assertThat(faults).hasSizeBetween(1, Faults.MAX_KEPT + 1);
        long lines = 1
                + text.chars()
                        .filter(c -> "\n\r\u0085\u2028\u2029".indexOf(c) >= 0)
                        .count();
        for (Fault fault : faults) {
            assertThat((long) fault.line()).as(fault.toString()).isBetween(1L, lines);
            assertThat(fault.message()).isNotBlank();
            assertThat(fault.toString().chars()).hasSizeLessThan(800).noneMatch(Character::isISOControl);
        }
    }
}
