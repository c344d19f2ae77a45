package dev.weir.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.config.WeirConfig;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.shape.command.OrdersView;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.view.QueueView;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The list of queues, of two instances. */
@Tag("slow")
class DrainingQueuesTest {

    private static final String TOKEN = "a-token-of-the-draining-test";
    private static final String NOBODY = "127.0.0.1:1";

    private final FixedAnswers here = new FixedAnswers();
    private final FixedAnswers there = new FixedAnswers();
    private WeirService service;
    private WeirService other;
    private Caller caller;

    @BeforeEach
    void start() throws IOException {
        service = open(here);
        other = open(there);
        caller = Caller.of(service.port(), TOKEN);
    }

    private static WeirService open(FixedAnswers answers) {
        WeirConfig config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", NOBODY).toBuilder()
                .service(WeirConfig.DEFAULTS.service().withPort(0).withHealthPort(0))
                .build();
        WeirService opened = WeirService.open(config, Map.of(WeirConfig.Service.TOKEN_VARIABLE, TOKEN));
        opened.attachEnforcer(new PolicyRegistry(), answers);
        return opened;
    }

    @AfterEach
    void stop() {
        service.close();
        other.close();
    }

    private static QueueView draining(String id, long waiting) {
        QueueRules rules = QueueRules.builder(id, 5, 1_000).version(3).build();
        return new QueueView(
                rules,
                true,
                new QueueView.BacklogView(
                        waiting, waiting, List.of(new QueueView.TierView("free", TierShare.DEFAULT, waiting)), 7L, 100),
                new QueueView.OneBucket(0, null));
    }

    @Test
    void a_deleted_queue_is_listed_while_requests_wait_in_it_on_any_instance() throws Exception {
        assertThat(caller.get("/v1/queues").text()).isEqualTo("{\"queues\":[],\"next\":null,\"missing\":[]}");
        here.draining = new Result.Partial<>(
                new TreeMap<>(Map.of("mail", draining("mail", 2), "zoo", draining("zoo", 1))), Set.of(other.address()));
        there.draining = new Result.Partial<>(
                new TreeMap<>(Map.of("hooks", draining("hooks", 4), "mail", draining("mail", 1))),
                Set.of(service.address()));
        JsonNode all = caller.get("/v1/queues").json();
        assertThat(all.get("queues").findValuesAsText("id")).containsExactly("hooks", "mail", "zoo");
        assertThat(all.at("/queues/0/deleted").booleanValue()).isTrue();
        assertThat(all.at("/queues/0/version").intValue()).isEqualTo(3);
        assertThat(all.at("/queues/0/definition").isNull()).isTrue();
        assertThat(all.get("missing")).isEmpty();

        JsonNode page = caller.get("/v1/queues?limit=1&after=hooks").json();
        assertThat(page.get("queues").findValuesAsText("id")).containsExactly("mail");
        assertThat(page.get("next").textValue()).isEqualTo("mail");
    }

    @Test
    void the_commands_in_effect_are_those_of_all_instances() throws Exception {
        QueueCommand.Origin ann = new QueueCommand.Origin(Optional.of("ann"), "down", 1_000);
        QueueCommand.Origin unknown = new QueueCommand.Origin(Optional.empty(), "moves", 2_000);
        OrdersView.KeyOrders key = new OrdersView.KeyOrders(Map.of("tenant", "a"), Optional.empty(), Optional.of(ann));
        OrdersView some = new OrdersView(Optional.of(ann), Optional.empty(), false, 1, List.of(key));
        OrdersView others = new OrdersView(Optional.empty(), Optional.of(unknown), true, 2, List.of());
        here.draining = new Result.Partial<>(
                new TreeMap<>(Map.of("mail", draining("mail", 2).withOrders(some))), Set.of(other.address()));
        there.draining = new Result.Partial<>(
                new TreeMap<>(Map.of("mail", draining("mail", 1).withOrders(others), "zoo", draining("zoo", 0))),
                Set.of(service.address()));
        JsonNode all = caller.get("/v1/queues").json().get("queues");
        assertThat(all.findValuesAsText("id")).as("nothing waits in the other").containsExactly("mail");
        assertThat(all.at("/0/paused").toString()).isEqualTo("{\"author\":\"ann\",\"reason\":\"down\",\"since\":1000}");
        assertThat(all.at("/0/draining").toString()).isEqualTo("{\"author\":null,\"reason\":\"moves\",\"since\":2000}");
        assertThat(all.at("/0/purging").asBoolean()).isTrue();

        here.queue = new Result.Partial<>(draining("mail", 2).withOrders(others), Set.of(other.address()));
        there.queue = new Result.Partial<>(draining("mail", 1).withOrders(some), Set.of(service.address()));
        JsonNode state = caller.get("/v1/queues/mail").json().get("state");
        assertThat(state.get("commandedKeys").asInt()).isEqualTo(3);
        assertThat(state.at("/keyCommands/0/key/tenant").asText()).isEqualTo("a");
        assertThat(state.at("/keyCommands/0/draining/author").asText()).isEqualTo("ann");
    }

    @Test
    void what_is_in_flight_is_added_over_all_instances() throws Exception {
        QueueView own = draining("mail", 2)
                .withInFlight(new QueueView.InFlightView(2, 5, Map.of("gold", 4L, "", 1L), 1, 9_000L));
        QueueView others =
                draining("mail", 3).withInFlight(new QueueView.InFlightView(1, 2, Map.of("gold", 2L), 3, 8_000L));
        here.queue = new Result.Partial<>(own, Set.of(other.address()));
        there.queue = new Result.Partial<>(others, Set.of(service.address()));
        assertThat(caller.get("/v1/queues/mail").json().at("/state/inFlight").toString())
                .isEqualTo("{\"requests\":3,\"slots\":7,\"retries\":4,\"oldestMs\":9000,"
                        + "\"tiers\":[{\"tier\":null,\"slots\":1},{\"tier\":\"gold\",\"slots\":6}]}");
    }

    @Test
    void requests_that_wait_for_their_time_are_added_over_all_instances() throws Exception {
        QueueView own = draining("mail", 2).withScheduled(new QueueView.ScheduledView(2, 5_000L));
        QueueView others = draining("mail", 3).withScheduled(new QueueView.ScheduledView(3, 4_000L));
        here.queue = new Result.Partial<>(own, Set.of(other.address()));
        there.queue = new Result.Partial<>(others, Set.of(service.address()));
        assertThat(caller.get("/v1/queues/mail").json().at("/state/scheduled").toString())
                .isEqualTo("{\"requests\":5,\"nextAt\":null}");
    }

    @Test
    void instances_that_do_not_respond_are_named() throws Exception {
        here.draining = new Result.Partial<>(new TreeMap<>(), Set.of(NOBODY, other.address()));
        there.draining = new Result.NotReady<>("moving");
        assertThat(caller.get("/v1/queues").json().get("missing"))
                .extracting(JsonNode::textValue)
                .containsExactlyInAnyOrder(NOBODY, other.address());
        here.draining = new Result.NotReady<>("moving");
        assertThat(caller.get("/v1/queues").json().get("missing"))
                .extracting(JsonNode::textValue)
                .containsExactly(service.address());
    }
}
