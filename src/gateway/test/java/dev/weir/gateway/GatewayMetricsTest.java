package dev.weir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.api.Caller;
import dev.weir.api.Queries;
import dev.weir.api.Scrape;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The metrics of a gateway. The alerts use only metrics and labels that exist. */
@Tag("slow")
class GatewayMetricsTest {

    private static Gateway gateway;
    private static Scrape scrape;

    @BeforeAll
    static void open() throws Exception {
        gateway = SharedWeir.get().open(GatewayConfig.DEFAULTS);
        Caller caller = Caller.unchecked(gateway.httpPort());
        assertThat(caller.get("/v1/authorize").status()).isEqualTo(200);
        scrape = Scrape.of(caller.get("/metrics").text());
    }

    @AfterAll
    static void close() {
        gateway.close();
    }

    @Test
    void the_alerts_query_existing_metrics() throws Exception {
        Queries queries = Queries.ofGroup(Path.of("src/deploy/alerts.yaml"), "weir-gateway");
        assertThat(queries.all()).hasSizeGreaterThan(5);
        assertThat(queries.faults(scrape)).isEmpty();
    }

    @Test
    void bounds_are_those_of_the_configuration() {
        assertThat(scrape.lines("weir_gateway_bound"))
                .containsExactlyInAnyOrder(
                        "{of=\"requests\"} 10000.0",
                        "{of=\"connections\"} 4096.0",
                        "{of=\"envoy_calls\"} 10000.0",
                        "{of=\"envoy_connections\"} 1000.0");
        assertThat(scrape.lines("weir_gateway_connected")).containsExactly("1.0");
    }

    /** Those of the client have the names of Micrometer on the page. */
    @Test
    void every_metric_is_on_the_page() throws Exception {
        String page = Files.readString(Path.of("topology-docs/reference/metrics.md"));
        for (String name : scrape.byName().keySet()) {
            if (name.startsWith("weir_client_")) {
                String meter = name.replaceFirst("_total$", "").replace('_', '.');
                assertThat(page).contains("`" + meter + "`");
            } else if (name.startsWith("weir_")) {
                assertThat(page).contains("`" + name.replaceFirst("_(bucket|sum|count)$", "") + "`");
            }
        }
    }
}
