package dev.weir.client.lease;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseSession;
import org.junit.jupiter.api.Test;

class AttemptPoolTest {

    private final LeaseSession session = new LeaseSession("me", 1, () -> 0);
    private final AttemptPool pool = new AttemptPool(() -> new DecisionAttempt(
            new ClientLeases(session, new LedgerClocks()),
            session,
            new ClientPolicyRegistry(LeaseTerms.DEFAULTS),
            new DecisionAttempt.Waits(1_000, true),
            () -> {}));

    @Test
    void an_attempt_is_used_again_after_it_was_given_back_and_not_before() {
        DecisionAttempt first = pool.take();
        DecisionAttempt second = pool.take();
        assertThat(second).isNotSameAs(first);
        pool.giveBack(first);
        assertThat(pool.take()).isSameAs(first);
        assertThat(pool.take()).isNotSameAs(first);
    }

    @Test
    void the_pool_keeps_one_attempt_of_a_thread() {
        DecisionAttempt first = pool.take();
        DecisionAttempt second = pool.take();
        pool.giveBack(first);
        pool.giveBack(second);
        assertThat(pool.take()).isSameAs(second);
        assertThat(pool.take()).isNotSameAs(first);
    }
}
