package dev.weir.event;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DecisionEndTest {

    private static final Decision CANCELLED =
            Decision.denied(Request.builder("r", "c").build(), Reason.CANCELLED, 410, 0);

    @Test
    void the_denial_of_a_request_that_waited_for_a_lease_is_its_only_answer() {
        assertThat(CANCELLED.endsWait()).isFalse();
    }

    @Test
    void the_denial_of_a_request_that_waited_in_a_queue_follows_another_answer() {
        assertThat(CANCELLED
                        .withQueueing(new Decision.Queueing("q", null, null))
                        .endsWait())
                .isTrue();
    }
}
