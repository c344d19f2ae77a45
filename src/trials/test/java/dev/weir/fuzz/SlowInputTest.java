package dev.weir.fuzz;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.ConfigFile;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.policy.PolicyTable;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Inputs that would take quadratic or exponential time in a naive implementation. The timeout of a minute
 * is for the slowest machine.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a busy thread does not notice interrupts
@Tag("slow")
class SlowInputTest {

    private static final int BITS = 15;

    @Test
    void strings_with_the_same_hash_are_found_by_their_order() throws Exception {
        StringBuilder file = new StringBuilder("policies:\n");
        for (int i = 0; i < 1 << BITS; i++) {
            file.append("- {id: p").append(i).append(", match: {client: ").append(colliding(i));
            file.append("}, limits: [{unlimited: true}]}\n");
        }
        PolicyTable table = PolicyFile.read("f", file.toString()).table();
        assertThat(table.applicable(RequestSamples.of(colliding(77), null, Map.of(), new SplittableRandom(1))))
                .extracting(policy -> policy.id())
                .containsExactly("p77");
    }

    /** Returns a string with the same length and hash code as those of other numbers. */
    private static String colliding(int number) {
        StringBuilder word = new StringBuilder();
        for (int bit = 0; bit < BITS; bit++) {
            word.append((number >> bit & 1) == 0 ? "Aa" : "BB");
        }
        return word.toString();
    }

    @Test
    void unterminated_references_are_scanned_once() throws Exception {
        String value = "${env:".repeat(170_000);
        assertThat(ConfigFile.read("f", "kafka: {a.b: \"" + value + "\"}", Map.of())
                        .kafka())
                .containsEntry("a.b", value);
    }

    @Test
    void a_glob_with_many_wildcards_is_not_tried_in_every_way() throws Exception {
        String glob = "*a".repeat(127) + "*";
        PolicyTable table = PolicyFile.read(
                        "f",
                        "policies: [{id: p, match: {endpoint: '" + glob + "b'}, limits: [{unlimited: true}]},"
                                + " {id: q, layer: l, match: {endpoint: '" + glob + "'}, limits: [{unlimited: true}]}]")
                .table();
        String longest = "a".repeat(1_024);
        Request request = RequestSamples.of("alice", null, Map.of("endpoint", longest), new SplittableRandom(1));
        assertThat(table.applicable(request)).extracting(policy -> policy.id()).containsExactly("q");
    }

    @Test
    void undefined_queues_are_not_compared_with_all_others() {
        StringBuilder file = new StringBuilder("policies:\n");
        for (int i = 0; i < 8_000; i++) {
            file.append("- {id: p")
                    .append(i)
                    .append(", queue: ")
                    .append("x".repeat(100))
                    .append(i)
                    .append("}\n");
        }
        file.append("queues:\n");
        for (int i = 0; i < 8_000; i++) {
            file.append("- {id: ").append("y".repeat(100)).append(i).append(", limit: 1, per: 1s}\n");
        }
        assertThat(org.assertj.core.api.Assertions.catchThrowable(() -> PolicyFile.read("f", file.toString())))
                .hasMessageContaining("and 7000 more faults");
    }
}
