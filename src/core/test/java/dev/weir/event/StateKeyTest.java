package dev.weir.event;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StateKeyTest {

    @Test
    void keys_are_in_one_order_and_only_the_same_are_equal_in_it() {
        List<List<String>> others = List.of(
                List.of(), List.of("e", ""), List.of("e", "/a"), List.of("e", "/a", "ip", "1"), List.of("f", "/a"));
        List<StateKey> inOrder = new ArrayList<>();
        for (String client : List.of("", "Aa", "BB", "a")) { // of which two have the same hash
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
