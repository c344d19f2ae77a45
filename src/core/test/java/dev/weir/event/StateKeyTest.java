package dev.weir.event;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StateKeyTest {

    @Test
    void keys_have_a_total_order_consistent_with_equals() {
        List<List<String>> others = List.of(
                List.of(), List.of("e", ""), List.of("e", "/a"), List.of("e", "/a", "ip", "1"), List.of("f", "/a"));
        List<StateKey> inOrder = new ArrayList<>();
        for (String client : List.of("", "Aa", "BB", "a")) { // "Aa" and "BB" have the same hash code
            for (String policy : List.of("p", "q")) {
                others.forEach(other -> inOrder.add(new StateKey(client, policy, other)));
            }
        }
        for (int i = 0; i < inOrder.size(); i++) {
            for (int j = 0; j < inOrder.size(); j++) {
                assertThat(Integer.signum(inOrder.get(i).compareTo(inOrder.get(j))))
                        .as("%s to %s", inOrder.get(i), inOrder.get(j))
                        .isEqualTo(Integer.compare(i, j));
            }
        }
    }
}
