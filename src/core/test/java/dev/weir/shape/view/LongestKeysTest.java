package dev.weir.shape.view;

import static dev.weir.shape.QueueHarness.MS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Admission;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.QueueHarness;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.view.QueueView.KeyView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the longest keys of a queue among many more. */
class LongestKeysTest {

    private static final String FIELD = "destination";
    private static final QueueRules RULES = QueueRules.builder("q", 2, 1_000)
            .capacity(1_000)
            .lookAheadMs(0)
            .key(List.of(FIELD))
            .build();
    private static final Comparator<KeyView> BY_KEY =
            Comparator.comparing(of -> of.key().get(FIELD));
    private static final Comparator<KeyView> MOST_WAITING =
            Comparator.comparingLong(KeyView::waiting).reversed().thenComparing(BY_KEY);
    private static final Comparator<KeyView> LONGEST_WAIT =
            Comparator.comparingLong(KeyView::oldestWaitMs).reversed().thenComparing(BY_KEY);

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6})
    void the_list_is_exact_after_one_more_request_to_each_key(long seed) {
        Random random = new Random(seed);
        QueueHarness queue = new QueueHarness(RULES);
        int keys = 1 + random.nextInt(200);
        long nowMs = 0;
        for (int i = 0; i < 3_000; i++) {
            nowMs += random.nextInt(4) == 0 ? random.nextInt(400) : 0;
            queue.runUntil(nowMs);
            int key = (int) Math.abs(random.nextGaussian() * keys / 2) % keys;
            send(
                    queue,
                    random.nextInt(5) == 0 ? RequestKind.CANCEL : RequestKind.CONSUME,
                    "r" + random.nextInt(i + 1),
                    key,
                    nowMs);
            requireTrueFigures(queue, nowMs);
        }
        for (int key = 0; key < keys; key++) {
            send(queue, RequestKind.CONSUME, "last", key, nowMs);
        }
        requireTrueFigures(queue, nowMs);
        assertThat(queue.shaper.queries().view("q", nowMs * MS).longest()).isEqualTo(truth(queue, keys, nowMs));
    }

    /** Checks each listed key against its bucket, however long the list is. */
    private static void requireTrueFigures(QueueHarness queue, long nowMs) {
        QueueView view = queue.shaper.queries().view("q", nowMs * MS);
        assertThat(view.longest().size()).isLessThanOrEqualTo(2 * LongestKeys.MAX_LISTED);
        for (KeyView of : view.longest()) {
            assertThat(of).isEqualTo(ofKey(queue, of.key(), nowMs));
        }
        assertThat(view.drainMs())
                .isEqualTo(view.longest().stream()
                        .mapToLong(KeyView::drainMs)
                        .max()
                        .orElse(0));
    }

    private static KeyView ofKey(QueueHarness queue, Map<String, String> key, long nowMs) {
        QueueView bucket = queue.shaper.queries().view(BucketId.of("q", key), nowMs * MS);
        return new KeyView(key, bucket.waiting(), bucket.waitingTokens(), bucket.oldestWaitMs(), bucket.drainMs(), 0);
    }

    private static List<KeyView> truth(QueueHarness queue, int keys, long nowMs) {
        List<KeyView> all = new ArrayList<>();
        for (int key = 0; key < keys; key++) {
            all.add(ofKey(queue, key(key), nowMs));
        }
        return Stream.of(MOST_WAITING, LONGEST_WAIT)
                .flatMap(order -> all.stream().sorted(order).limit(LongestKeys.MAX_LISTED))
                .distinct()
                .sorted(MOST_WAITING)
                .toList();
    }

    private static Map<String, String> key(int key) {
        return Map.of(FIELD, "d" + key);
    }

    private static void send(QueueHarness queue, RequestKind kind, String id, int key, long nowMs) {
        Request request = Request.builder(id, "c")
                .kind(kind)
                .attributes(key(key))
                .source(0, 0)
                .build();
        queue.send(Admission.of(request, "q", new PolicyVersion("p", 1), null).withKey(key(key)), nowMs);
    }

    @Test
    void a_restored_queue_lists_its_longest_keys() {
        QueueHarness queue = new QueueHarness(RULES);
        for (int i = 0; i < 6; i++) {
            send(queue, RequestKind.CONSUME, "r" + i, i % 3 == 0 ? 0 : i, i);
        }
        List<KeyView> before = queue.shaper.queries().view("q", 10 * MS).longest();
        assertThat(before).hasSize(5);
        queue.restart();
        assertThat(queue.shaper.queries().view("q", 10 * MS).longest()).isEqualTo(before);
    }

    @Test
    void an_empty_key_is_not_listed() {
        QueueHarness queue = new QueueHarness(RULES);
        send(queue, RequestKind.CONSUME, "r", 1, 0);
        assertThat(queue.shaper.queries().view("q", 0).longest()).hasSize(1);
        queue.runUntil(0);
        assertThat(queue.shaper.queries().view("q", 0))
                .returns(1L, view -> QueueHarness.several(view).keys())
                .returns(List.of(), QueueView::longest)
                .returns(0L, QueueView::drainMs);
    }

    @Test
    void the_lists_of_two_partitions_are_merged() {
        List<QueueHarness> partitions = List.of(new QueueHarness(RULES), new QueueHarness(RULES));
        Map<Integer, Integer> sizes = new TreeMap<>();
        Random random = new Random(7);
        for (int i = 0; i < 1_000; i++) {
            int key = random.nextInt(100);
            sizes.merge(key, 1, Integer::sum);
            send(partitions.get(key % 2), RequestKind.CONSUME, "r" + i, key, i);
        }
        QueueView both = partitions
                .get(0)
                .shaper
                .queries()
                .view("q", 1_000 * MS)
                .mergedWith(partitions.get(1).shaper.queries().view("q", 1_000 * MS));
        List<KeyView> all = new ArrayList<>();
        sizes.keySet().forEach(key -> all.add(ofKey(partitions.get(key % 2), key(key), 1_000)));
        assertThat(both.longest())
                .containsAll(all.stream()
                        .sorted(MOST_WAITING)
                        .limit(LongestKeys.MAX_LISTED)
                        .toList())
                .containsAll(all.stream()
                        .sorted(LONGEST_WAIT)
                        .limit(LongestKeys.MAX_LISTED)
                        .toList())
                .isSortedAccordingTo(MOST_WAITING);
        assertThat(both.longest().size()).isLessThanOrEqualTo(2 * LongestKeys.MAX_LISTED);
        assertThat(both.drainMs())
                .isEqualTo(all.stream().mapToLong(KeyView::drainMs).max().getAsLong());
    }
}
