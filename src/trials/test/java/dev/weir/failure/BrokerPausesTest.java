package dev.weir.failure;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The short form of {@link BrokerPauses}. */
@Tag("full")
class BrokerPausesTest {

    @TempDir
    Path directory;

    @Test
    void an_instance_recovers_from_pauses_of_the_broker_and_decides_each_request_once() throws Exception {
        BrokerPauses.Report report = BrokerPauses.run(2, Duration.ofSeconds(12), directory, System.out::println);
        assertThat(report.sent()).isPositive();
        assertThat(report.decided()).as(report.toString()).isEqualTo(report.sent());
        assertThat(report.decisions()).as(report.toString()).isEqualTo(report.sent());
    }
}
