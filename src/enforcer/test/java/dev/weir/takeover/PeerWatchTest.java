package dev.weir.takeover;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.kafka.UnreachableException;
import dev.weir.takeover.PeerGroups.Evidence;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PeerWatchTest {

    private static final Duration SUSPECT_AFTER = Duration.ofSeconds(2);
    private static final Duration SOON = Duration.ofSeconds(1);
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final TopicPartition PARTITION = new TopicPartition("weir.requests", 0);
    private static final Announcement A = announcement("a", 1);
    private static final Announcement B = announcement("b", 1);

    private record Removed(Announcement instance, Evidence evidence) {}

    /** What the brokers know of an instance. */
    private enum Seen {
        COMMITS,
        HANGS,
        IDLE,
        REBALANCES,
        GONE,
        UNKNOWN
    }

    /** The other instances, by address. */
    private final class Cluster implements PeerGroups {
        private final Map<String, CompletableFuture<String>> asked = new HashMap<>();
        private final Set<String> refused = new HashSet<>();
        private final Set<String> addresses = new TreeSet<>();
        private final Map<Announcement, Seen> seen = new HashMap<>();
        private final List<Removed> removed = new ArrayList<>();
        private int failures;
        private long commits;

        CompletableFuture<String> ask(String address, String known) {
            if (refused.contains(address)) {
                return CompletableFuture.failedFuture(new IOException("connection refused"));
            }
            CompletableFuture<String> answer = new CompletableFuture<>();
            asked.put(address, answer);
            return answer;
        }

        @Override
        public Optional<PeerActivity> activity(Announcement of) {
            Seen state = seen.getOrDefault(of, Seen.HANGS);
            if (state == Seen.UNKNOWN) {
                throw new UnreachableException("no broker", null);
            }
            if (state == Seen.GONE) {
                return Optional.empty();
            }
            long committed = state == Seen.COMMITS ? commits++ : 10;
            long end = state == Seen.IDLE ? 10 : 20;
            return Optional.of(new PeerActivity(
                    Map.of(), Map.of(PARTITION, committed), Map.of(PARTITION, end), state == Seen.REBALANCES));
        }

        @Override
        public void remove(Announcement dead, Evidence evidence) {
            if (failures-- > 0) {
                throw new UnreachableException("no coordinator", null);
            }
            removed.add(new Removed(dead, evidence));
            seen.put(dead, Seen.GONE);
        }
    }

    private final Cluster cluster = new Cluster();
    private final VirtualTime time = new VirtualTime();

    private static Announcement announcement(String instance, int incarnation) {
        return new Announcement(
                instance,
                List.of(new Announcement.Member("weir", instance + "-1", "m" + incarnation)),
                List.of("weir-" + instance));
    }

    private PeerWatch watch(String own) {
        PeerWatch watch = new PeerWatch(
                new TakeoverSource(
                        own,
                        () -> announcement(own, 1).leaving(),
                        () -> Set.copyOf(cluster.addresses),
                        cluster,
                        SUSPECT_AFTER),
                cluster::ask,
                cluster.refused::contains,
                time::nanos,
                time,
                time);
        watch.start();
        return watch;
    }

    /** Instances at the addresses with their ids answer the requests that wait. */
    private void answer(Announcement... instances) {
        for (Announcement one : instances) {
            cluster.addresses.add(one.instance());
        }
        time.pass(SOON);
        for (Announcement one : instances) {
            answer(one.instance(), one.json());
        }
    }

    private void answer(String address, String json) {
        cluster.asked.get(address).complete(json);
        time.pass(Duration.ZERO);
    }

    private void fail(String address) {
        cluster.asked.get(address).completeExceptionally(new IOException("connection reset"));
        time.pass(Duration.ZERO);
    }

    /** The process dies: its connections break, and its port refuses others. */
    private void die(String address) {
        cluster.refused.add(address);
        fail(address);
    }

    /** Lets time pass in which instances answer at the end of each interval. */
    private void passAnswering(Duration whole, Duration interval, Announcement... instances) {
        for (long ms = 0; ms < whole.toMillis(); ms += interval.toMillis()) {
            time.pass(interval);
            for (Announcement one : instances) {
                cluster.asked.get(one.instance()).complete(one.json());
            }
            time.pass(Duration.ZERO);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"HANGS", "IDLE", "REBALANCES"})
    void an_instance_whose_link_breaks_and_whose_port_refuses_is_removed_once(Seen state) {
        watch("own");
        answer(A);
        cluster.seen.put(A, state);
        die("a");
        time.pass(PeerWatch.SETTLE);
        time.pass(SOON);
        assertThat(cluster.removed).containsExactly(new Removed(A, Evidence.REFUSED));
        time.pass(LONG);
        assertThat(cluster.removed).hasSize(1);
    }

    @Test
    void an_instance_that_commits_is_not_removed_though_its_port_refuses() {
        watch("own");
        answer(A);
        cluster.seen.put(A, Seen.COMMITS);
        die("a");
        time.pass(LONG);
        assertThat(cluster.removed).isEmpty();
    }

    @Test
    void an_instance_that_still_listens_is_followed_again() {
        watch("own");
        answer(A);
        fail("a");
        answer(A);
        passAnswering(LONG, PeerWatch.ANSWERED, A);
        assertThat(cluster.removed).isEmpty();
    }

    @Test
    void an_instance_that_left_or_was_never_heard_is_not_removed() {
        watch("own");
        answer(A);
        answer("a", A.leaving().json());
        cluster.addresses.add("unheard");
        time.pass(SOON);
        die("a");
        die("unheard");
        time.pass(LONG);
        assertThat(cluster.removed).isEmpty();
    }

    @Test
    void a_restarted_instance_is_removed_by_what_it_announces_now() {
        Announcement restarted = announcement("a", 2);
        watch("own");
        answer(A);
        fail("a"); // it listens again
        answer(restarted);
        die("a");
        time.pass(SOON);
        assertThat(cluster.removed).containsExactly(new Removed(restarted, Evidence.REFUSED));
    }

    @Test
    void an_instance_that_has_joined_again_under_its_id_is_not_removed() {
        watch("own");
        answer(A);
        cluster.seen.put(A, Seen.GONE);
        die("a");
        time.pass(LONG);
        assertThat(cluster.removed).isEmpty();
    }

    @Test
    void an_earlier_process_is_removed_also_when_the_next_one_answers_already() {
        watch("own");
        answer(A);
        die("a");
        cluster.refused.remove("a");
        cluster.failures = 5; // so that the next one is there before the removal succeeds
        time.pass(SOON);
        answer("a", A.leaving().json());
        assertThat(cluster.removed).isEmpty();
        time.pass(SUSPECT_AFTER);
        assertThat(cluster.removed).containsExactly(new Removed(A, Evidence.REFUSED));
    }

    @Test
    void an_answer_that_is_no_announcement_counts_as_no_link() {
        watch("own");
        cluster.addresses.add("a");
        time.pass(SOON);
        answer("a", "{\"members\": []}");
        die("a");
        time.pass(LONG);
        assertThat(cluster.removed).isEmpty();
    }

    @Test
    void an_instance_that_neither_answers_nor_commits_is_removed() {
        watch("own");
        answer(A);
        time.pass(SUSPECT_AFTER);
        assertThat(cluster.removed).isEmpty();
        time.pass(SOON);
        assertThat(cluster.removed).containsExactly(new Removed(A, Evidence.SILENT));
        time.pass(LONG);
        assertThat(cluster.removed).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "HANGS")
    void an_instance_that_does_not_answer_is_kept_while_the_brokers_do_not_show_that_it_hangs(Seen state) {
        watch("own");
        answer(A);
        cluster.seen.put(A, state);
        time.pass(LONG);
        assertThat(cluster.removed).isEmpty();
    }

    @Test
    void a_slow_instance_is_not_removed() {
        watch("own");
        answer(A);
        passAnswering(LONG, SUSPECT_AFTER, A);
        assertThat(cluster.removed).isEmpty();
    }

    @Test
    void a_silent_instance_that_dies_is_removed_at_once() {
        watch("own");
        answer(A);
        time.pass(SOON);
        die("a");
        time.pass(PeerWatch.SETTLE.plus(SOON.dividedBy(5)));
        assertThat(cluster.removed).containsExactly(new Removed(A, Evidence.REFUSED));
    }

    @Test
    void an_instance_that_was_stopped_itself_suspects_nobody() {
        watch("own");
        answer(A);
        for (int i = 0; i < 100; i++) {
            time.pass(SUSPECT_AFTER); // A is suspected, and would be removed next
            time.stall(SUSPECT_AFTER);
            time.pass(Duration.ZERO);
            assertThat(cluster.removed).isEmpty();
        }
    }

    @Test
    void a_removal_that_fails_is_tried_again() {
        cluster.failures = 3;
        watch("own");
        answer(A);
        die("a");
        time.pass(SUSPECT_AFTER);
        assertThat(cluster.removed).containsExactly(new Removed(A, Evidence.REFUSED));
    }

    @Test
    void without_permission_the_removal_is_given_up() {
        cluster.failures = Integer.MAX_VALUE;
        watch("own");
        answer(A);
        die("a");
        time.pass(LONG);
        cluster.failures = 0;
        time.pass(LONG);
        assertThat(cluster.removed).isEmpty();
    }

    @Test
    void two_instances_that_die_at_once_are_both_removed() {
        watch("c");
        answer(A, B);
        cluster.refused.addAll(List.of("a", "b"));
        fail("a");
        fail("b");
        time.pass(SOON);
        assertThat(cluster.removed)
                .containsExactlyInAnyOrder(new Removed(A, Evidence.REFUSED), new Removed(B, Evidence.REFUSED));
    }

    @Test
    void the_linked_instance_with_the_lowest_id_acts_first() {
        Announcement other = announcement("d", 1);
        watch("c");
        answer(B, other);
        die("d");
        for (Duration passed = Duration.ZERO; passed.compareTo(PeerWatch.TURN) < 0; passed = passed.plus(SOON)) {
            assertThat(cluster.removed).isEmpty();
            passAnswering(SOON, PeerWatch.ANSWERED, B);
        }
        passAnswering(SOON, PeerWatch.ANSWERED, B);
        assertThat(cluster.removed).containsExactly(new Removed(other, Evidence.REFUSED));
    }

    @Test
    void survivors_that_do_not_reach_each_other_remove_only_the_dead() {
        watch("c");
        answer(A, B);
        cluster.seen.put(B, Seen.COMMITS);
        cluster.refused.add("b"); // a firewall between them
        fail("b");
        die("a");
        time.pass(LONG);
        assertThat(cluster.removed).containsExactly(new Removed(A, Evidence.REFUSED));
    }

    @ParameterizedTest
    @CsvSource({"b, 0", "c, 1", "e, 3"})
    void instances_act_in_the_order_of_their_ids(String own, int before) {
        assertThat(PeerWatch.before(own, List.of("d", "b", "a", "b", "c"), "a")).isEqualTo(before);
    }

    @Test
    void a_port_on_which_nobody_listens_refuses() throws IOException {
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
            assertThat(PeerWatch.isRefused("localhost:" + port)).isFalse();
        }
        assertThat(PeerWatch.isRefused("127.0.0.1:" + port)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"no-such-host.invalid:1", "localhost:x"})
    void an_address_that_does_not_answer_does_not_refuse(String address) {
        assertThat(PeerWatch.isRefused(address)).isFalse();
    }
}
