package dev.weir.lease;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.lease.holder.LeaseHolder;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.lease.ledger.Ledger;
import dev.weir.limit.FixedWindow;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a small limit can be used although many holders share it. */
class SmallLimitTest {

    private static final int LIMIT = 8;
    private static final int REQUESTS = 12;
    private static final LeaseTerms TERMS = LeaseTerms.DEFAULTS.forWindow(60_000);

    private final List<LeaseHolder<Integer>> holders = new ArrayList<>();
    private Ledger ledger;
    private long nowMs;
    private int messages;

    private void open(int count) {
        nowMs = 60_000;
        messages = 0;
        ledger = Ledger.open(List.of(new FixedWindow(LIMIT, 60_000, false)), nowMs);
        holders.clear();
        for (int i = 0; i < count; i++) {
            holders.add(LeaseHolder.empty(new LeaseSession("h" + i, 1, () -> 0), TERMS));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 6, 8, 12})
    void requests_one_after_the_other_get_the_whole_limit(int count) {
        for (int seed = 0; seed < 50; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            long pauseMs = 1 + random.nextLong(400);
            open(count);
            int allowed = 0;
            for (int i = 0; i < REQUESTS; i++) {
                allowed += decide(holders.get(random.nextInt(count))) ? 1 : 0;
                pass(pauseMs);
            }
            assertThat(allowed).as("seed %d", seed).isEqualTo(LIMIT);
            for (int i = 0; i < 1_500; i++) {
                exchange();
                nowMs += 10;
            }
            assertThat(messages).as("messages, seed %d", seed).isLessThan(10 * REQUESTS);
        }
    }

    @Test
    void requests_that_one_holder_gets_at_the_same_time_get_the_whole_limit_in_two_round_trips() {
        open(4);
        LeaseHolder<Integer> holder = holders.get(0);
        int taken = 0;
        for (int i = 0; i < REQUESTS; i++) {
            holder.setBook(holder.book().withDemand(1, nowMs));
            holder.park(i, 1, nowMs + 1_000);
            if (i == 0) {
                exchange();
            }
        }
        for (int round = 0; round < 2; round++) {
            while (available(holder) > 0) {
                holder.take(1, nowMs, holder.book().decisionTimeMs(nowMs));
                holder.takers().removeFirst();
                taken++;
            }
            exchange();
        }
        assertThat(taken).isEqualTo(LIMIT);
    }

    /** Decides a request, which waits for the response of the ledger if necessary. */
    private boolean decide(LeaseHolder<Integer> holder) {
        holder.setBook(holder.book().withDemand(1, nowMs));
        if (available(holder) < 1) {
            holder.park(0, 1, nowMs + 1_000);
            exchange();
            holder.takers().removeFirst();
        }
        if (available(holder) < 1) {
            return false;
        }
        holder.take(1, nowMs, holder.book().decisionTimeMs(nowMs));
        return true;
    }

    private long available(LeaseHolder<Integer> holder) {
        return holder.book().available(nowMs, holder.book().decisionTimeMs(nowMs));
    }

    private void pass(long ms) {
        long untilMs = nowMs + ms;
        while (nowMs < untilMs) {
            exchange();
            nowMs++;
        }
    }

    /** Delivers the messages of all holders and the responses. */
    private void exchange() {
        for (LeaseHolder<Integer> holder : holders) {
            holder.nextMessage(nowMs).ifPresent(message -> {
                messages++;
                Ledger.Result result = ledger.handle(message, TERMS, nowMs);
                ledger = result.ledger();
                if (result.response() != null) {
                    holder.handleResponse(result.response(), nowMs);
                }
            });
        }
    }
}
