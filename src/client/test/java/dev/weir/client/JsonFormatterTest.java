package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.LeaseUsage;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.LeaseUsageAvro;
import dev.weir.wire.ReleaseCodec;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.Test;

class JsonFormatterTest {

    private static final byte[] DECISION = new DecisionCodec()
            .encode(new Decision(
                    new Decision.Identity("r1", "alice", new Request.Source(0, 0)),
                    new Decision.Status(Outcome.ALLOWED, Reason.WITHIN_LIMITS, 200, false, false, false),
                    new Decision.Timing(1, 0L, 0L),
                    null,
                    null,
                    null,
                    new DecisionContext(null, null)));
    private static final byte[] RELEASE =
            new ReleaseCodec().encode(Release.builder("m1", "bob", "sms").build());
    private static final byte[] LEASE_USAGE = new LeaseUsageAvro(Optional.empty())
            .encode(new LeaseUsage(
                    new LeaseUsage.Origin("holder-1", 1, 1),
                    new PolicyVersion("shared", 1),
                    Map.of(),
                    new LeaseUsage.Amount(1, 1, 0),
                    0,
                    0));

    private final JsonFormatter formatter = new JsonFormatter();
    private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    @Test
    void the_topic_of_each_record_determines_its_type() {
        formatter.configure(Map.of());
        assertThat(line("eu.releases", RELEASE)).contains("\"requestId\":\"m1\"", "\"queue\":\"sms\"");
        assertThat(line("eu.decisions", DECISION)).contains("\"requestId\":\"r1\"", "\"outcome\":\"ALLOWED\"");
        assertThat(line("eu.lease-usage", LEASE_USAGE)).contains("holder-1");
        assertThat(line("us.releases", RELEASE)).contains("\"requestId\":\"m1\"", "\"queue\":\"sms\"");
    }

    @Test
    void a_configured_type_applies_to_all_topics() {
        formatter.configure(Map.of("records", "releases"));
        assertThat(line("copy", RELEASE)).contains("\"queue\":\"sms\"");
        assertThat(line("copy.decisions", RELEASE)).contains("\"queue\":\"sms\"");
        assertThatThrownBy(() -> formatter.configure(Map.of("records", "policies")))
                .hasMessage("records must be decisions, releases or lease-usage, is 'policies'");
    }

    private String line(String topic, byte[] value) {
        printed.reset();
        formatter.writeTo(new ConsumerRecord<>(topic, 0, 0, null, value), new PrintStream(printed, true));
        return printed.toString(StandardCharsets.UTF_8);
    }
}
