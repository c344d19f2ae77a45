package dev.weir.client.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.kafka.SendWindow.End;
import dev.weir.client.kafka.SendWindow.Step;
import dev.weir.client.kafka.SendWindow.Ticket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class SendWindowTest {

    private static final long START = Long.MAX_VALUE - 7; // overflows
    private static final int MAX = 10_000;
    private static final long HALF_SECOND = 500;

    private final SendWindow<Integer> window = new SendWindow<>(MAX);
    private final List<Integer> sent = new ArrayList<>();
    private final List<Integer> shed = new ArrayList<>();
    private int number;

    private static long at(double ms) {
        return START + (long) (ms * TimeUnit.MILLISECONDS.toNanos(1));
    }

    private Ticket<Integer> offer(double atMs, long withinMs) {
        return offer(atMs, withinMs, true);
    }

    private Ticket<Integer> offer(double atMs, long withinMs, boolean isSheddable) {
        Ticket<Integer> ticket = new Ticket<>(++number, at(atMs), TimeUnit.MILLISECONDS.toNanos(withinMs), isSheddable);
        if (window.offer(ticket, at(atMs))) {
            drain(atMs);
        } else {
            shed.add(number);
        }
        return ticket;
    }

    private void end(Ticket<Integer> ticket, End how, double atMs) {
        window.end(ticket, how, at(atMs));
        drain(atMs);
    }

    private void drain(double atMs) {
        assertThat(window.beginDrain()).isTrue();
        for (Step<Integer> step = window.next(at(atMs)); step != null; step = window.next(at(atMs))) {
            (step.isShed() ? shed : sent).add(step.request());
        }
    }

    /** Has one request decided after a time, so that the window knows it. */
    private void decideOne(double tookMs) {
        end(offer(0, HALF_SECOND), End.DECIDED, tookMs);
        sent.clear();
    }

    @Test
    void requests_beyond_the_window_wait_and_are_sent_in_their_order() {
        List<Ticket<Integer>> all = new ArrayList<>();
        for (int i = 0; i < SendWindow.INITIAL + 3; i++) {
            all.add(offer(0, HALF_SECOND));
        }
        assertThat(sent).hasSize(SendWindow.INITIAL);
        assertThat(window.waiting()).isEqualTo(3);
        end(all.get(5), End.FAILED, 1);
        assertThat(sent).endsWith(SendWindow.INITIAL + 1);
        end(all.get(SendWindow.INITIAL + 1), End.TIMED_OUT, 1); // one that waits
        end(all.get(0), End.FAILED, 1);
        assertThat(sent).endsWith(SendWindow.INITIAL + 3).isSorted();
        assertThat(window.waiting()).isZero();
        assertThat(window.window()).isEqualTo(SendWindow.INITIAL);
    }

    @Test
    void one_thread_sends_at_a_time() {
        assertThat(window.beginDrain()).isTrue();
        assertThat(window.beginDrain()).isFalse();
        assertThat(window.offer(new Ticket<>(1, START, 1, true), START)).isTrue();
        assertThat(window.next(START)).isEqualTo(new Step<>(1, false));
        assertThat(window.next(START)).isNull();
        assertThat(window.beginDrain()).isTrue();
        window.endDrain();
        assertThat(window.beginDrain()).isTrue();
    }

    @Test
    void the_window_grows_by_half_with_each_round_trip_while_decisions_are_fast() {
        double now = 0;
        for (int size = SendWindow.INITIAL; size < MAX; size = window.window()) {
            List<Ticket<Integer>> all = new ArrayList<>();
            while (window.waiting() == 0) {
                all.add(offer(now, HALF_SECOND));
            }
            now += 125;
            for (Ticket<Integer> one : all) {
                end(one, End.DECIDED, now);
            }
            assertThat(window.window()).isBetween(Math.min(MAX, 3 * size / 2 - 1), Math.min(MAX, 2 * size));
        }
        assertThat(window.window()).isEqualTo(MAX);
    }

    @Test
    void the_window_does_not_grow_by_slow_decisions_or_if_it_is_not_used() {
        for (int i = 0; i < 100; i++) {
            decideOne(1);
        }
        assertThat(window.window()).isEqualTo(SendWindow.INITIAL);
        List<Ticket<Integer>> all = new ArrayList<>();
        for (int i = 0; i < SendWindow.INITIAL; i++) {
            all.add(offer(1_000, HALF_SECOND));
        }
        all.forEach(one -> end(one, End.DECIDED, 1_126));
        assertThat(window.window()).isEqualTo(SendWindow.INITIAL);
    }

    @Test
    void a_decision_after_half_of_the_time_halves_the_window() {
        List<Ticket<Integer>> all = new ArrayList<>();
        for (int i = 0; i < SendWindow.INITIAL; i++) {
            all.add(offer(0, HALF_SECOND));
        }
        end(all.get(SendWindow.INITIAL - 1), End.DECIDED, 250);
        assertThat(window.window()).isEqualTo(SendWindow.INITIAL);
        end(all.get(SendWindow.INITIAL - 2), End.DECIDED, 251);
        assertThat(window.window()).isEqualTo(SendWindow.INITIAL / 2 - 1);
    }

    @Test
    void requests_that_time_out_halve_the_window_once_and_short_ones_do_not() {
        List<Ticket<Integer>> all = new ArrayList<>();
        for (int i = 0; i < SendWindow.INITIAL; i++) {
            all.add(offer(0, HALF_SECOND));
        }
        end(all.get(SendWindow.INITIAL - 1), End.TIMED_OUT, 500);
        assertThat(window.window()).isEqualTo(SendWindow.INITIAL / 2);
        end(all.get(SendWindow.INITIAL - 2), End.TIMED_OUT, 500);
        assertThat(window.window()).isEqualTo(SendWindow.INITIAL / 2 - 1);
        all.stream().limit(SendWindow.INITIAL - 2).forEach(one -> end(one, End.TIMED_OUT, 500));
        assertThat(window.window()).isEqualTo(SendWindow.MIN);
        end(offer(600, 99), End.TIMED_OUT, 700);
        assertThat(window.window()).isEqualTo(SendWindow.MIN);
    }

    @Test
    void a_request_is_shed_if_it_is_expected_to_take_half_of_its_time() {
        decideOne(10);
        for (int i = 0; i < SendWindow.INITIAL; i++) {
            offer(11, HALF_SECOND);
        }
        for (int i = 0; i < 3_072; i++) {
            offer(11, HALF_SECOND);
        }
        assertThat(shed).isEmpty();
        offer(11, HALF_SECOND);
        offer(11, HALF_SECOND);
        offer(11, 2 * HALF_SECOND);
        assertThat(shed).hasSize(2);
        assertThat(window.waiting()).isEqualTo(3_073);
    }

    @Test
    void a_request_that_frees_what_another_has_taken_is_never_shed_and_keeps_its_place() {
        decideOne(10);
        for (int i = 0; i < SendWindow.INITIAL + 3_072; i++) {
            offer(11, HALF_SECOND);
        }
        offer(11, HALF_SECOND, true);
        assertThat(shed).containsExactly(number);
        offer(11, HALF_SECOND, false);
        assertThat(window.waiting()).isEqualTo(3_073);
    }

    @Test
    void a_request_that_frees_what_another_has_taken_is_sent_however_long_it_has_waited() {
        decideOne(10);
        List<Ticket<Integer>> all = new ArrayList<>();
        for (int i = 0; i < SendWindow.INITIAL; i++) {
            all.add(offer(20, 10 * HALF_SECOND));
        }
        for (int i = 0; i < SendWindow.INITIAL; i++) {
            offer(20, HALF_SECOND, false);
        }
        end(all.get(0), End.DECIDED, 515);
        assertThat(shed).isEmpty();
        assertThat(sent).endsWith(number - SendWindow.INITIAL + 1);
    }

    @Test
    void a_request_that_has_waited_too_long_is_shed_instead_of_being_sent() {
        decideOne(10);
        List<Ticket<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 2 * SendWindow.INITIAL; i++) {
            all.add(offer(20, i < SendWindow.INITIAL ? 10 * HALF_SECOND : HALF_SECOND));
        }
        end(all.get(0), End.DECIDED, 515);
        assertThat(shed).startsWith(number - SendWindow.INITIAL + 1).hasSizeGreaterThan(1);
    }

    @Test
    void nothing_is_shed_while_no_decision_arrives() {
        decideOne(10);
        List<Ticket<Integer>> all = new ArrayList<>();
        for (int i = 0; i < MAX; i++) {
            all.add(offer(111, HALF_SECOND));
        }
        assertThat(shed).isEmpty();
        Ticket<Integer> last = all.get(MAX - 1);
        assertThat(window.wasCrowdedOut(last))
                .isFalse(); // the enforcer is away, so it has timed out like the sent ones
        end(all.get(0), End.DECIDED, 360);
        assertThat(window.wasCrowdedOut(last)).isFalse();
        end(all.get(1), End.DECIDED, 362);
        assertThat(window.wasCrowdedOut(last)).isTrue();
        assertThat(window.wasCrowdedOut(all.get(2))).isFalse(); // was sent
    }

    /**
     * 10,000 requests a second for 10 s, twice as many as are decided. Half of them are shed, and of those that are sent
     * hardly any times out.
     */
    @Test
    void at_twice_the_load_that_is_decided_those_that_are_sent_are_decided_in_time() {
        Deque<Ticket<Integer>> atEnforcer = new ArrayDeque<>();
        List<Ticket<Integer>> tickets = new ArrayList<>(List.of(new Ticket<>(0, START, 1, true)));
        int passedOn = 0;
        int decided = 0;
        int timedOut = 0;
        int crowdedOut = 0;
        boolean[] isOver = new boolean[100_001];
        int oldest = 1;
        for (int tick = 0; tick < 100_000; tick++) { // of 0.1 ms
            double now = tick / 10.0;
            tickets.add(offer(now, HALF_SECOND));
            for (; passedOn < sent.size(); passedOn++) {
                atEnforcer.add(tickets.get(sent.get(passedOn)));
            }
            if (tick % 2 == 0 && !atEnforcer.isEmpty()) {
                Ticket<Integer> next = atEnforcer.remove();
                if (!isOver[next.request()]) {
                    isOver[next.request()] = true;
                    decided++;
                    end(next, End.DECIDED, now);
                }
            }
            shed.forEach(one -> isOver[one] = true);
            shed.clear();
            for (; oldest <= tick - 5_000; oldest++) {
                Ticket<Integer> late = tickets.get(oldest);
                if (!isOver[oldest]) {
                    isOver[oldest] = true;
                    crowdedOut += window.wasCrowdedOut(late) ? 1 : 0;
                    timedOut += window.wasCrowdedOut(late) ? 0 : 1;
                    end(late, End.TIMED_OUT, now);
                }
            }
        }
        assertThat(decided).isGreaterThan(49_000);
        assertThat(timedOut).isLessThan(500);
        assertThat(crowdedOut).isLessThan(500);
    }
}
