package dev.weir.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.shape.backlog.Flow;
import dev.weir.shape.backlog.Pacing.Arrival;
import dev.weir.shape.total.SlotGrant;
import dev.weir.shape.total.SlotReport;
import dev.weir.shape.total.SlotRun;
import dev.weir.wire.UnreadableException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SlotCodecTest {

    private static final SlotReport REPORT = new SlotReport(
            "żółw",
            11,
            2_000,
            60_000,
            150,
            1L << 40,
            7,
            Optional.of(new SlotReport.LeasedTime(1_700_000_000_123_456_789L, 1_700_000_000_123_456_999L)),
            List.of(
                    new SlotReport.Demand(
                            "gold",
                            3,
                            List.of(new SlotReport.ClientKeys("ann", 2)),
                            4,
                            5,
                            List.of(new SlotReport.Step(-1, 6), new SlotReport.Step(1_700_000_000_123_456_789L, 1))),
                    new SlotReport.Demand("", 1, List.of(), 1, 1, List.of())));

    private static final SlotReport LAST_REPORT = new SlotReport("q", 0, 1, 1, 0, 0, 0, Optional.empty(), List.of());

    private static final SlotGrant GRANT = new SlotGrant(
            "q",
            0,
            1_700_000_000_000_000_017L,
            1_700_000_000_123L,
            2_000,
            60_000,
            99,
            List.of(new SlotGrant.ClientWeight(new Flow("gold", "ann"), 250)),
            List.of(new SlotRun(new Arrival(1_700_000_000_123_456_789L, 2), 100), new SlotRun(new Arrival(-5, 0), 1)));

    @Test
    void slot_messages_survive_a_round_trip() throws UnreadableException {
        assertThat(SlotCodec.isReport(SlotCodec.encode(REPORT))).isTrue();
        assertThat(SlotCodec.isGrant(SlotCodec.encode(REPORT))).isFalse();
        assertThat(SlotCodec.decodeReport(SlotCodec.encode(REPORT))).isEqualTo(REPORT);
        assertThat(SlotCodec.decodeReport(SlotCodec.encode(LAST_REPORT))).isEqualTo(LAST_REPORT);
        assertThat(SlotCodec.isGrant(SlotCodec.encode(GRANT))).isTrue();
        assertThat(SlotCodec.decodeGrant(SlotCodec.encode(GRANT))).isEqualTo(GRANT);
    }

    @Test
    void impossible_values_are_unreadable() {
        SlotReport.Demand negative = new SlotReport.Demand("gold", -1, List.of(), 1, 1, List.of());
        SlotReport.Demand negativeStep =
                new SlotReport.Demand("gold", 1, List.of(), 1, 1, List.of(new SlotReport.Step(0, -1)));
        Optional<SlotReport.LeasedTime> none = Optional.empty();
        List<SlotReport> reports = List.of(
                new SlotReport("q", -1, 1, 1, 0, 1, 0, none, List.of()),
                new SlotReport("q", 0, 0, 1, 0, 1, 0, none, List.of()),
                new SlotReport("q", 0, 1, 1, -1, 1, 0, none, List.of()),
                new SlotReport("q", 0, 1, 1, 0, -1, 0, none, List.of()),
                new SlotReport("q", 0, 1, 1, 0, 1, -1, none, List.of()),
                new SlotReport("q", 0, 1, 1, 0, 1, 0, none, List.of(negative)),
                new SlotReport("q", 0, 1, 1, 0, 1, 0, none, List.of(negativeStep)));
        for (SlotReport report : reports) {
            byte[] bytes = SlotCodec.encode(report);
            assertThatThrownBy(() -> SlotCodec.decodeReport(bytes))
                    .as("%s", report)
                    .isInstanceOf(UnreadableException.class);
        }
        List<SlotGrant> grants = List.of(
                new SlotGrant("q", -1, 0, 0, 1, 1, 0, List.of(), List.of()),
                new SlotGrant("q", 0, -1, 0, 1, 1, 0, List.of(), List.of()),
                new SlotGrant("q", 0, 0, 0, 1, 0, 0, List.of(), List.of()),
                new SlotGrant("q", 0, 0, 0, 1, 1, 0, List.of(), List.of(new SlotRun(new Arrival(0, 0), -1))));
        for (SlotGrant grant : grants) {
            byte[] bytes = SlotCodec.encode(grant);
            assertThatThrownBy(() -> SlotCodec.decodeGrant(bytes))
                    .as("%s", grant)
                    .isInstanceOf(UnreadableException.class);
        }
    }

    @Test
    void truncated_messages_and_other_kinds_are_unreadable() {
        byte[] report = SlotCodec.encode(REPORT);
        byte[] grant = SlotCodec.encode(GRANT);
        for (int length = 0; length < report.length; length++) {
            byte[] cut = Arrays.copyOf(report, length);
            assertThatThrownBy(() -> SlotCodec.decodeReport(cut)).isInstanceOf(UnreadableException.class);
        }
        for (int length = 0; length < grant.length; length++) {
            byte[] cut = Arrays.copyOf(grant, length);
            assertThatThrownBy(() -> SlotCodec.decodeGrant(cut)).isInstanceOf(UnreadableException.class);
        }
        assertThatThrownBy(() -> SlotCodec.decodeGrant(report)).isInstanceOf(UnreadableException.class);
        assertThat(SlotCodec.isReport(null)).isFalse();
        assertThat(SlotCodec.isGrant(new byte[0])).isFalse();
    }
}
