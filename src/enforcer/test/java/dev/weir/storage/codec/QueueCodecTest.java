package dev.weir.storage.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Admission;
import dev.weir.event.DecisionContext;
import dev.weir.event.LimitStatus;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Request;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.command.QueueOrders;
import dev.weir.shape.effect.QueueState;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightCaps;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.store.QueueEntry;
import dev.weir.shape.store.QueueStore.ExpiryTimer;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.store.QueueStore.Ticket;
import dev.weir.shape.total.InFlightLoan;
import dev.weir.shape.total.LedgerState;
import dev.weir.shape.total.OutflowState;
import dev.weir.storage.QueueKeys;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;

class QueueCodecTest {

    private static final BucketId Q = new BucketId("q", List.of());

    private final QueueCodec codec = new QueueCodec();

    @Test
    void slots_survive_a_round_trip() {
        Request request = Request.builder("r1", "żółw")
                .cost(7)
                .sizeBytes(1L)
                .attributes(Map.of("a", "b"))
                .deadlineMs(-5L)
                .payload(new byte[] {1, 0})
                .timestampMs(99)
                .source(3, 14)
                .build();
        Admission admission = Admission.of(request, "q", new PolicyVersion("p", 2), LimitStatus.of("gcra 1/1s", 1L))
                .withHeadersAndContext(List.of(new Admission.Header("trace", new byte[] {9})), DecisionContext.UNKNOWN);
        for (QueueEntry slot : List.of(
                new QueueEntry.Waiting(admission, Long.MAX_VALUE, 1_000, 2_000, true, new ExpiryTimer(20, 3)),
                new QueueEntry.Waiting(admission, 0, -1, DueTime.NEVER, false, null),
                new QueueEntry.Attempted(
                        new QueueEntry.Waiting(admission, 5, 1_000, 2_000, true, null),
                        3,
                        1,
                        new QueueEntry.Phase.InFlight(7, 1_500, 31_500, true, 1L << 48),
                        "żółw"),
                new QueueEntry.Attempted(
                        new QueueEntry.Waiting(admission, 5, 1_000, DueTime.NEVER, false, null),
                        1,
                        0,
                        new QueueEntry.Phase.Backoff(99_000),
                        null),
                new QueueEntry.Gap(Long.MAX_VALUE))) {
            assertThat(codec.decodeEntry(codec.encode(slot)))
                    .usingRecursiveComparison()
                    .isEqualTo(slot);
        }
    }

    @Test
    void places_queues_and_outflows_survive_a_round_trip() {
        Place place = new Place(new Flow("", "c"), 1L << 40);
        assertThat(QueueCodec.decodePlace(QueueCodec.encode(place))).isEqualTo(place);
        QueueRules rules = QueueRules.builder("sms", 100, 1_000)
                .version(9)
                .burst(3)
                .lookAheadMs(0)
                .tiers(Map.of("gold", new TierShare(-3, 10_000), "żółw", new TierShare(Integer.MAX_VALUE, 1)))
                .fairBy("account")
                .key(List.of("tenant", "model"))
                .total(new QueueTotal(7, 60_000, 8))
                .build();
        QueueState queue = new QueueState(rules, 3, new InFlightLoan(1_795_219_200_000_000_001L, 7));
        assertThat(QueueCodec.decodeQueue(QueueCodec.encode(queue))).isEqualTo(queue);
        for (InFlightCaps caps : List.of(
                InFlightCaps.NONE,
                new InFlightCaps(Map.of("", 1L, "żółw", InFlightRules.MOST), OptionalLong.empty()),
                new InFlightCaps(Map.of(), OptionalLong.of(3)))) {
            QueueRules withSlots = QueueRules.builder("q", new InFlightRules(4, 5, 6, 7, 8, caps))
                    .tiers(Map.of("gold", new TierShare(-3, 10_000, 5)))
                    .build();
            QueueState stored = new QueueState(withSlots, 0);
            assertThat(QueueCodec.decodeQueue(QueueCodec.encode(stored))).isEqualTo(stored);
            QueueRules ofTotal = withSlots.toBuilder()
                    .key(List.of("k"))
                    .tiers(Map.of())
                    .total(QueueTotal.ofInFlight(3, 8))
                    .build();
            QueueState both = new QueueState(
                    ofTotal.toBuilder()
                            .total(new QueueTotal(7, 60_000, 8).withInFlight(3))
                            .build(),
                    0);
            assertThat(QueueCodec.decodeQueue(QueueCodec.encode(new QueueState(ofTotal, 0)))
                            .rules())
                    .isEqualTo(ofTotal);
            assertThat(QueueCodec.decodeQueue(QueueCodec.encode(both))).isEqualTo(both);
        }
        OutflowState outflow = new OutflowState(
                new Pacing.Arrival(1_795_219_200_000_000_001L, 12),
                1_795_219_200_000_000_000L,
                77,
                1_795_219_199_900_000_000L);
        LedgerState ledger = new LedgerState(
                outflow,
                1_795_219_200_000_000_017L,
                Map.of(
                        0, new LedgerState.Lent(new InFlightLoan(1_795_219_200_000_000_017L, 5), 0),
                        11, new LedgerState.Lent(new InFlightLoan(0, 0), 3)));
        assertThat(QueueCodec.decodeLedger(QueueCodec.encode(ledger))).isEqualTo(ledger);
    }

    @Test
    void orders_and_their_keys_survive_a_round_trip() {
        QueueCommand.Origin ann = new QueueCommand.Origin(Optional.of("ann"), "żółw", 1_795_219_200_000L);
        QueueCommand.Origin unknown = new QueueCommand.Origin(Optional.empty(), "because", -1);
        for (QueueOrders orders : List.of(
                new QueueOrders(Optional.of(ann), Optional.empty(), Optional.empty()),
                new QueueOrders(Optional.empty(), Optional.of(unknown), Optional.empty()),
                new QueueOrders(
                        Optional.of(unknown),
                        Optional.of(ann),
                        Optional.of(new QueueOrders.Purge(Long.MAX_VALUE, ann))))) {
            assertThat(QueueCodec.decodeOrders(QueueCodec.encode(orders))).isEqualTo(orders);
        }
        for (BucketId target : List.of(Q, new BucketId("q", List.of("a", "b\0", "c", "")))) {
            byte[] key = QueueKeys.orders(target);
            assertThat(QueueKeys.isOrders(key)).isTrue();
            assertThat(QueueKeys.isLedger(key)).isFalse();
            assertThat(QueueKeys.readOrders(key)).isEqualTo(target);
        }
        for (byte[] other : List.of(QueueKeys.ledger("q"), QueueKeys.rules("q"), QueueKeys.bucket(Q))) {
            assertThat(QueueKeys.isOrders(other)).isFalse();
        }
    }

    @Test
    void bytes_of_another_version_are_rejected() {
        byte[] bytes = codec.encode(new QueueEntry.Gap(1));
        bytes[0] = 2;
        assertThatThrownBy(() -> codec.decodeEntry(bytes))
                .hasMessage("a queue's state has format version 2, expected 1");
    }

    @Test
    void the_order_of_the_bytes_is_the_order_of_bucket_tier_client_and_position() {
        List<QueueKeys.EntryKey> keys = new ArrayList<>();
        String[] texts = {"", "a", "a\0", "a\0b", "ab", "b", "\u00e9", "\uffff"};
        List<BucketId> buckets = List.of(
                new BucketId("a", List.of()),
                new BucketId("a", List.of("x", "")),
                new BucketId("a", List.of("x", "a\0")),
                new BucketId("a", List.of("x", "ab")),
                new BucketId("a", List.of("x", "", "y", "")),
                new BucketId("ab", List.of()),
                new BucketId("b", List.of("x", "a")));
        for (BucketId bucket : buckets) {
            for (String tier : texts) {
                for (String client : texts) {
                    for (long position : new long[] {0, 1, 255, 256, 1L << 40, Long.MAX_VALUE}) {
                        keys.add(new QueueKeys.EntryKey(bucket, new Place(new Flow(tier, client), position)));
                    }
                }
            }
        }
        List<QueueKeys.EntryKey> shuffled = new ArrayList<>(keys);
        Collections.shuffle(shuffled, new Random(1));
        List<QueueKeys.EntryKey> sorted = shuffled.stream()
                .map(key -> QueueKeys.entry(QueueKeys.bucket(key.bucket()), key.place()))
                .sorted(Arrays::compareUnsigned)
                .map(QueueKeys::readEntry)
                .toList();
        assertThat(sorted).isEqualTo(keys);
    }

    @Test
    void the_key_of_a_bucket_is_read_as_it_was_written() {
        for (BucketId bucket : List.of(Q, new BucketId("q", List.of("a", "b\0", "c", "")))) {
            assertThat(QueueKeys.readBucket(QueueKeys.bucket(bucket))).isEqualTo(bucket);
        }
        assertThat(QueueKeys.readBucket(QueueKeys.rules("q"))).isNull();
    }

    @Test
    void the_record_of_a_queue_without_key_has_its_id_as_the_key() {
        assertThat(QueueKeys.record(Q)).isEqualTo(new byte[] {'q'});
        assertThat(QueueKeys.record(new BucketId("q", List.of("a", "b"))))
                .isNotEqualTo(QueueKeys.record(new BucketId("q", List.of("a", "c"))));
    }

    @Test
    void no_two_tickets_or_expiry_timers_have_one_key() {
        byte[] q = QueueKeys.bucket(Q);
        assertThat(List.of(
                        QueueKeys.ticket(q, new Ticket("a", "bc")),
                        QueueKeys.ticket(q, new Ticket("ab", "c")),
                        QueueKeys.ticket(QueueKeys.bucket(new BucketId("qa", List.of())), new Ticket("b", "c"))))
                .doesNotHaveDuplicates();
        assertThat(QueueKeys.expiryTimer(q, new ExpiryTimer(1, 2)))
                .isNotEqualTo(QueueKeys.expiryTimer(q, new ExpiryTimer(2, 1)));
        List<byte[]> timers = new ArrayList<>(List.of(
                QueueKeys.expiryTimer(q, new ExpiryTimer(2, 0)),
                QueueKeys.expiryTimer(q, new ExpiryTimer(1, 300)),
                QueueKeys.expiryTimer(q, new ExpiryTimer(1, 2))));
        timers.sort(Comparator.comparing(bytes -> bytes, Arrays::compareUnsigned));
        assertThat(timers.get(2)).isEqualTo(QueueKeys.expiryTimer(q, new ExpiryTimer(2, 0)));
    }
}
