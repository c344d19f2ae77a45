package dev.weir.storage.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Admission;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.Pacing.Arrival;
import dev.weir.shape.rules.QueuePartition;
import dev.weir.shape.rules.TotalRate;
import dev.weir.shape.total.GrantedRun;
import dev.weir.shape.total.InFlightClaim;
import dev.weir.shape.total.InFlightDemand;
import dev.weir.shape.total.InFlightGrant;
import dev.weir.shape.total.InFlightLoan;
import dev.weir.shape.total.TotalGrant;
import dev.weir.shape.total.TotalReport;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class QueueMessageCodecTest {

    private static final TotalReport REPORT = new TotalReport(
            new QueuePartition("żółw", 11),
            new TotalRate(2_000, 60_000),
            150,
            1L << 40,
            7,
            Optional.of(new TotalReport.LeasedTime(1_700_000_000_123_456_789L, 1_700_000_000_123_456_999L)),
            List.of(
                    new TotalReport.Demand(
                            "gold",
                            3,
                            List.of(new TotalReport.ClientKeys("ann", 2)),
                            4,
                            5,
                            List.of(new TotalReport.Step(-1, 6), new TotalReport.Step(1_700_000_000_123_456_789L, 1))),
                    new TotalReport.Demand("", 1, List.of(), 1, 1, List.of())));

    private static final TotalReport LAST_REPORT =
            new TotalReport(new QueuePartition("q", 0), new TotalRate(1, 1), 0, 0, 0, Optional.empty(), List.of());

    private static final TotalReport REPORT_OF_SLOTS = new TotalReport(
            new QueuePartition("q", 3),
            Optional.empty(),
            0,
            5,
            0,
            Optional.empty(),
            List.of(new TotalReport.Demand("gold", 1, List.of(), 4, 5, List.of(), new InFlightDemand(4, 9))),
            new InFlightClaim(OptionalLong.of(9), new InFlightLoan(1_700_000_000_000_000_017L, 6), 2));

    private static final TotalGrant LOAN = new TotalGrant(
            new QueuePartition("q", 3),
            0,
            1_700_000_000_123L,
            Optional.empty(),
            0,
            List.of(),
            List.of(),
            new InFlightGrant(new InFlightLoan(1_700_000_000_000_000_018L, 6), InFlightGrant.Recall.FREED));

    private static final TotalGrant GRANT = new TotalGrant(
            new QueuePartition("q", 0),
            1_700_000_000_000_000_017L,
            1_700_000_000_123L,
            new TotalRate(2_000, 60_000),
            99,
            List.of(new TotalGrant.ClientWeight(new Flow("gold", "ann"), 250)),
            List.of(
                    new GrantedRun(new Arrival(1_700_000_000_123_456_789L, 2), 100),
                    new GrantedRun(new Arrival(-5, 0), 1)));

    private static final QueueMessage.Marker MARKER = new QueueMessage.Marker(new UUID(-1, 7), -5, 11);

    private static final QueueMessage.Commanded COMMAND = new QueueMessage.Commanded(QueueCommand.of(
            "żółw",
            Map.of("tenant", "acme", "region", ""),
            QueueCommand.Action.DRAIN,
            new QueueCommand.Origin(Optional.of("ann"), "because", 1_700_000_000_123L)));

    private final QueueMessageCodec codec = new QueueMessageCodec();

    @Test
    void messages_survive_a_round_trip() throws UnreadableException {
        Request request = Request.builder("r", "c").timestampMs(7).source(3, 4).build();
        Admission admission = Admission.of(request, "q", new PolicyVersion("p", 1), null);
        for (QueueMessage message : List.of(
                MARKER,
                new QueueMessage.Reported(REPORT),
                new QueueMessage.Reported(LAST_REPORT),
                new QueueMessage.Reported(REPORT_OF_SLOTS),
                new QueueMessage.Granted(LOAN),
                new QueueMessage.Granted(GRANT),
                COMMAND,
                new QueueMessage.Admitted(admission))) {
            assertThat(codec.decode(codec.encode(message))).isEqualTo(message);
        }
        for (QueueCommand.Action action : QueueCommand.Action.values()) {
            QueueMessage message = new QueueMessage.Commanded(
                    QueueCommand.of("q", Map.of(), action, new QueueCommand.Origin(Optional.empty(), "because", -1)));
            assertThat(codec.decode(codec.encode(message))).isEqualTo(message);
        }
    }

    @Test
    void impossible_commands_are_unreadable() {
        byte[] bytes = codec.encode(new QueueMessage.Commanded(QueueCommand.of(
                "q", Map.of(), QueueCommand.Action.PAUSE, new QueueCommand.Origin(Optional.empty(), "because", 0))));
        int key = 3; // after the type, the length of the name, and the name
        for (int[] change : new int[][] {{key, 1}, {key, 127}, {key + 1, 4}, {key + 1, -1}, {key + 3, 0}}) {
            byte[] forged = bytes.clone();
            forged[change[0]] = (byte) change[1];
            assertThatThrownBy(() -> codec.decode(forged)).isInstanceOf(UnreadableException.class);
        }
    }

    @Test
    void impossible_values_are_unreadable() {
        TotalReport.Demand negative = new TotalReport.Demand("gold", -1, List.of(), 1, 1, List.of());
        TotalReport.Demand negativeStep =
                new TotalReport.Demand("gold", 1, List.of(), 1, 1, List.of(new TotalReport.Step(0, -1)));
        TotalReport.Demand withoutKeys =
                new TotalReport.Demand("gold", 1, List.of(new TotalReport.ClientKeys("ann", 0)), 1, 1, List.of());
        TotalReport.Demand neverBegins =
                new TotalReport.Demand("gold", 1, List.of(), 1, 1, List.of(new TotalReport.Step(Long.MAX_VALUE, 1)));
        TotalReport.Demand tooLarge = new TotalReport.Demand("gold", 1, List.of(), 1L << 62, 1L << 62, List.of());
        Optional<TotalReport.LeasedTime> none = Optional.empty();
        List<TotalReport> reports = List.of(
                new TotalReport(new QueuePartition("q", -1), new TotalRate(1, 1), 0, 1, 0, none, List.of()),
                new TotalReport(new QueuePartition("q", 0), new TotalRate(0, 1), 0, 1, 0, none, List.of()),
                new TotalReport(new QueuePartition("q", 0), new TotalRate(1, 1), -1, 1, 0, none, List.of()),
                new TotalReport(new QueuePartition("q", 0), new TotalRate(1, 1), 0, -1, 0, none, List.of()),
                new TotalReport(new QueuePartition("q", 0), new TotalRate(1, 1), 0, 1, -1, none, List.of()),
                new TotalReport(new QueuePartition("q", 0), new TotalRate(1, 1), 0, 1, 0, none, List.of(negative)),
                new TotalReport(new QueuePartition("q", 0), new TotalRate(1, 1), 0, 1, 0, none, List.of(negativeStep)),
                new TotalReport(new QueuePartition("q", 0), new TotalRate(1, 1), 0, 1, 0, none, List.of(withoutKeys)),
                new TotalReport(new QueuePartition("q", 0), new TotalRate(1, 1), 0, 1, 0, none, List.of(neverBegins)),
                new TotalReport(new QueuePartition("q", 0), new TotalRate(1, 1), 0, 1, 0, none, List.of(tooLarge)));
        for (TotalReport report : reports) {
            byte[] bytes = codec.encode(new QueueMessage.Reported(report));
            assertThatThrownBy(() -> codec.decode(bytes)).as("%s", report).isInstanceOf(UnreadableException.class);
        }
        List<TotalGrant> grants = List.of(
                new TotalGrant(new QueuePartition("q", -1), 0, 0, new TotalRate(1, 1), 0, List.of(), List.of()),
                new TotalGrant(new QueuePartition("q", 0), -1, 0, new TotalRate(1, 1), 0, List.of(), List.of()),
                new TotalGrant(new QueuePartition("q", 0), 0, 0, new TotalRate(1, 0), 0, List.of(), List.of()),
                new TotalGrant(
                        new QueuePartition("q", 0),
                        0,
                        0,
                        new TotalRate(1, 1),
                        0,
                        List.of(),
                        List.of(new GrantedRun(new Arrival(0, 0), 0))),
                new TotalGrant(
                        new QueuePartition("q", 0),
                        0,
                        0,
                        new TotalRate(1, 1),
                        0,
                        List.of(),
                        List.of(new GrantedRun(new Arrival(0, 0), -1))));
        for (TotalGrant grant : grants) {
            byte[] bytes = codec.encode(new QueueMessage.Granted(grant));
            assertThatThrownBy(() -> codec.decode(bytes)).as("%s", grant).isInstanceOf(UnreadableException.class);
        }
    }

    @Test
    void truncated_messages_and_other_bytes_are_unreadable() {
        for (QueueMessage message :
                List.of(MARKER, new QueueMessage.Reported(REPORT), new QueueMessage.Granted(GRANT), COMMAND)) {
            byte[] bytes = codec.encode(message);
            for (int length = 0; length < bytes.length; length++) {
                byte[] cut = Arrays.copyOf(bytes, length);
                assertThatThrownBy(() -> codec.decode(cut)).isInstanceOf(UnreadableException.class);
            }
        }
        assertThatThrownBy(() -> codec.decode(new byte[] {3, 1, 2})).isInstanceOf(UnreadableException.class);
        assertThatThrownBy(() -> codec.decode(null)).isInstanceOf(UnreadableException.class);
    }
}
