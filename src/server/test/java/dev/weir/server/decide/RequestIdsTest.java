package dev.weir.server.decide;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.policy.RequestRules;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RequestIdsTest {

    @Test
    void ids_differ_within_and_between_instances() {
        RequestIds one = new RequestIds("authorize");
        RequestIds other = new RequestIds("authorize");
        Set<String> all = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            all.add(one.next());
            all.add(other.next());
        }
        assertThat(all).hasSize(200).allMatch(id -> id.startsWith("authorize-") && !RequestRules.isTooLong(id));
    }
}
