package dev.weir;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Tag;

/** Checks which packages use which other packages. */
@Tag("slow")
@AnalyzeClasses(packages = "dev.weir", importOptions = LayeringTest.WithoutTests.class)
class LayeringTest {

    /** Excludes tests and the test support module. */
    static final class WithoutTests implements ImportOption {
        @Override
        public boolean includes(Location location) {
            return !location.contains("/test-classes/") && !location.contains("/weir-testing");
        }
    }

    private static final String[] CORE = {
        "dev.weir.decision..",
        "dev.weir.event",
        "dev.weir.lease..",
        "dev.weir.limit..",
        "dev.weir.policy",
        "dev.weir.shape..",
        "dev.weir.time"
    };

    @ArchTest
    static final ArchRule limit_uses_only_java = uses("dev.weir.limit..");

    @ArchTest
    static final ArchRule lease_uses_only_limit = uses("dev.weir.lease..", "dev.weir.limit..");

    @ArchTest
    static final ArchRule holders_of_leases_use_no_ledger =
            uses("dev.weir.lease.holder", "dev.weir.lease", "dev.weir.limit..");

    @ArchTest
    static final ArchRule ledgers_use_no_holder = uses("dev.weir.lease.ledger", "dev.weir.lease", "dev.weir.limit..");

    @ArchTest
    static final ArchRule events_use_only_limit_and_lease =
            uses("dev.weir.event", "dev.weir.lease", "dev.weir.limit..");

    @ArchTest
    static final ArchRule policies_use_only_events_limit_and_lease =
            uses("dev.weir.policy", "dev.weir.event", "dev.weir.lease", "dev.weir.limit..");

    @ArchTest
    static final ArchRule decisions_do_not_use_queues =
            uses("dev.weir.decision..", "dev.weir.event", "dev.weir.lease..", "dev.weir.limit..", "dev.weir.policy");

    @ArchTest
    static final ArchRule queues_use_only_the_core = uses("dev.weir.shape..", CORE);

    @ArchTest
    static final ArchRule schedulers_of_queues_use_only_their_rules =
            uses("dev.weir.shape.fair", "dev.weir.shape.rules");

    /** Returns a rule: the package uses only itself, the JDK, times and the given packages. */
    private static ArchRule uses(String one, String... others) {
        List<String> allowed = new ArrayList<>(List.of(others));
        allowed.add(one);
        allowed.add("dev.weir.time");
        allowed.add("java..");
        return classes()
                .that()
                .resideInAPackage(one)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(allowed.toArray(String[]::new));
    }

    @ArchTest
    static final ArchRule the_core_has_no_clock_and_no_randomness = noClasses()
            .that()
            .resideInAnyPackage(CORE)
            .should()
            .callMethod(System.class, "currentTimeMillis")
            .orShould()
            .callMethod(System.class, "nanoTime")
            .orShould()
            .dependOnClassesThat()
            .haveFullyQualifiedName("java.util.Random")
            .orShould()
            .dependOnClassesThat()
            .haveFullyQualifiedName("java.time.Clock")
            .orShould()
            .callMethodWhere(
                    target(owner(resideInAPackage("java.time.."))).and(target(nameMatching("now|systemDefault"))));

    @ArchTest
    static final ArchRule only_limit_knows_the_calendar = noClasses()
            .that()
            .resideInAnyPackage("dev.weir.decision..", "dev.weir.event", "dev.weir.policy", "dev.weir.shape..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("java.time..");

    @ArchTest
    static final ArchRule the_client_uses_no_streams_avro_or_json_library = classes()
            .that()
            .resideInAPackage("dev.weir.client..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "java..",
                    "org.apache.kafka.clients..",
                    "org.apache.kafka.common..",
                    "io.github.resilience4j.circuitbreaker..",
                    "io.micrometer.core.instrument..",
                    "org.HdrHistogram",
                    "org.slf4j..",
                    "com.sun.net.httpserver",
                    "dev.weir.client..",
                    "dev.weir.decision..",
                    "dev.weir.definition",
                    "dev.weir.event",
                    "dev.weir.fault",
                    "dev.weir.lease",
                    "dev.weir.lease.holder",
                    "dev.weir.limit..",
                    "dev.weir.policy",
                    "dev.weir.shape",
                    "dev.weir.time",
                    "dev.weir.wire",
                    "dev.weir.wire.json");

    @ArchTest
    static final ArchRule only_the_client_uses_what_is_not_its_api = noClasses()
            .that()
            .resideOutsideOfPackage("dev.weir.client..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    "dev.weir.client.clock",
                    "dev.weir.client.kafka",
                    "dev.weir.client.lease",
                    "dev.weir.client.pipeline");

    @ArchTest
    static final ArchRule client_needs_micrometer_only_where_somebody_binds_it = noClasses()
            .that()
            .resideInAPackage("dev.weir.client..")
            .and()
            .haveNameNotMatching(".*\\.(Client|Throttled|Worker)MetricsBinder(\\$.*)?")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.micrometer..");

    @ArchTest
    static final ArchRule generated_avro_stays_in_wire = noClasses()
            .that()
            .resideOutsideOfPackages("dev.weir.wire", "dev.weir.avro")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.weir.avro", "org.apache.avro..");

    @ArchTest
    static final ArchRule the_registrys_client_stays_in_registry = noClasses()
            .that()
            .resideOutsideOfPackage("dev.weir.registry")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.apicurio..", "com.microsoft.kiota..", "io.kiota..", "io.vertx..");

    @ArchTest
    static final ArchRule the_broker_stays_in_dev = noClasses()
            .that()
            .resideOutsideOfPackage("dev.weir.dev")
            .should()
            .dependOnClassesThat(resideInAnyPackage(
                    "kafka..", "scala..", "org.apache.kafka.server..", "org.apache.kafka.metadata.."));

    /** The gateway is a process of its own, which needs neither. */
    @ArchTest
    static final ArchRule streams_and_rocksdb_stay_in_the_enforcer_and_its_tools = noClasses()
            .that()
            .resideInAnyPackage(
                    "dev.weir.api",
                    "dev.weir.config",
                    "dev.weir.gateway..",
                    "dev.weir.kafka",
                    "dev.weir.server..",
                    "dev.weir.client..",
                    "dev.weir.wire..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("org.apache.kafka.streams..", "org.rocksdb..");

    @ArchTest
    static final ArchRule http_stays_in_server_api_and_gateway = noClasses()
            .that()
            .resideOutsideOfPackages("dev.weir.server..", "dev.weir.api", "dev.weir.gateway")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.javalin..", "jakarta..", "org.eclipse.jetty..");

    @ArchTest
    static final ArchRule grpc_stays_in_the_service_for_envoy_and_the_interceptor = noClasses()
            .that()
            .resideOutsideOfPackages("dev.weir.gateway.envoy..", "dev.weir.grpc..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.grpc..", "com.google.protobuf..");

    @ArchTest
    static final ArchRule only_the_command_line_uses_the_api = noClasses()
            .that()
            .resideOutsideOfPackages("dev.weir.api", "dev.weir.cli..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("dev.weir.api");

    @ArchTest
    static final ArchRule the_command_line_is_on_top = noClasses()
            .that(not(resideInAPackage("dev.weir.cli..")))
            .should()
            .dependOnClassesThat()
            .resideInAPackage("dev.weir.cli..");

    @ArchTest
    static final ArchRule options_and_arguments_are_read_by_commands = noClasses()
            .that()
            .resideOutsideOfPackages("dev.weir.cli..", "dev.weir.console", "dev.weir.gateway")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("picocli..");

    @ArchTest
    static final ArchRule the_doctor_asks_and_changes_nothing = noClasses()
            .that()
            .resideInAPackage("dev.weir.doctor")
            .should()
            .callMethodWhere(
                    target(owner(assignableTo(Admin.class)))
                            .and(
                                    target(
                                            nameMatching(
                                                    "(abort|add|alter|create[A-Z]|delete|elect|expire|fence|force|incremental|remove|renew|unregister|update).*"))))
            .orShould()
            .dependOnClassesThat()
            .haveFullyQualifiedName("org.apache.kafka.clients.producer.KafkaProducer");

    @ArchTest
    static final ArchRule circuits_stay_in_client = noClasses()
            .that()
            .resideOutsideOfPackages("dev.weir.client", "dev.weir.client.pipeline")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.github.resilience4j..");

    @ArchTest
    static final ArchRule packages_are_free_of_cycles =
            slices().matching("dev.weir.(**)").should().beFreeOfCycles();
}
