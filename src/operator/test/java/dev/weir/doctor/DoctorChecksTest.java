package dev.weir.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.doctor.Finding.Verdict;
import dev.weir.kafka.KafkaCommands;
import java.net.http.HttpClient;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks whose findings cannot be produced with a single broker on this machine. */
class DoctorChecksTest {

    private static final List<Node> NODES =
            List.of(new Node(1, "a", 9092), new Node(2, "b", 9092), new Node(3, "c", 9092));

    private final List<Finding> findings = new ArrayList<>();
    private final FindingCollector collector = new FindingCollector("a group", "a check", findings::add);

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {
                "3, 2, 2, OK,   -",
                "2, 2, 2, WARN, t: replicas are not in sync in partitions 0",
                "1, 1, 2, FAIL, t: too few in-sync replicas to write to partitions 0",
                "0, 1, 2, FAIL, t: no leader for partitions 0",
            })
    void a_partition_is_worse_the_fewer_replicas_it_has(
            int inSync, int leader, int needed, Verdict verdict, String found) {
        TopicPartitionInfo partition =
                new TopicPartitionInfo(0, inSync == 0 ? null : NODES.get(leader - 1), NODES, NODES.subList(0, inSync));
        TopicDescription topic = new TopicDescription("t", false, List.of(partition));
        try (ClusterView cluster = new ClusterView(WeirConfig.DEFAULTS, List.of(), false, HttpClient.newHttpClient())) {
            assertThat(TopicChecks.areInSync(topic, needed, cluster, collector)).isEqualTo(verdict == Verdict.OK);
        }
        if (verdict == Verdict.OK) {
            assertThat(findings).isEmpty();
        } else {
            assertThat(findings).singleElement().satisfies(one -> {
                assertThat(one.verdict()).isEqualTo(verdict);
                assertThat(one.found()).startsWith(found);
                assertThat(one.advice())
                        .containsExactly("start the brokers that are missing:"
                                + " kafka-topics.sh --bootstrap-server localhost:9092 --describe --topic t");
            });
        }
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            delimiter = '|',
            value = {
                "1024 | 8192 | OK   | -",
                "1024 | 1400 | WARN | export JAVA_TOOL_OPTIONS=-Xmx888m",
                "512  | 600  | WARN | in the configuration file: state: {memory: 44MiB}",
                "48   | 8192 | WARN | in the configuration file: state: {hot-memory: 12MiB}",
            })
    void configured_memory_must_be_available(long heapMib, long allMib, Verdict verdict, String advice) {
        MachineChecks.memory(heapMib << 20, allMib << 20, WeirConfig.DEFAULTS.state(), collector);
        assertThat(findings).singleElement().satisfies(one -> {
            assertThat(one.verdict()).isEqualTo(verdict);
            assertThat(one.advice()).isEqualTo(advice == null ? List.of() : List.of(advice));
        });
    }

    @ParameterizedTest
    @CsvSource({
        "100000, OK,   it agrees within 1s",
        "101500, OK,   it agrees within 1s",
        "103000, WARN, it is 2s ahead of this machine",
        "98500,  WARN, it is 1.5s behind this machine",
    })
    void clock_skew_is_reported_only_beyond_the_round_trip(long there, Verdict verdict, String found) {
        ClockChecks.compare("it", there, 100_000, 101_000, collector);
        assertThat(findings).singleElement().satisfies(one -> {
            assertThat(one.verdict()).isEqualTo(verdict);
            assertThat(one.found()).startsWith(found);
        });
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            delimiter = '|',
            value = {
                "2 | 2 | 2 | OK   | transaction.version 2 | -",
                "2 | 2 | 1 | WARN | transaction.version is 1: a late request | kafka-features.sh",
                "2 | 2 | 0 | WARN | transaction.version is 0: a late request | kafka-features.sh",
                "0 | 2 | 0 | WARN | broker 1 does not support transaction.version 2: a late request | upgrade all brokers",
                "2 | 1 | 1 | WARN | broker 2 does not support transaction.version 2: a late request | upgrade all brokers",
                "0 | 0 | 0 | WARN | brokers 1, 2 do not support transaction.version 2: a late request | upgrade all brokers",
            })
    void a_feature_level_is_advised_only_if_every_broker_supports_it(
            int first, int second, int level, Verdict verdict, String found, String advice) {
        BrokerChecks.features(
                Map.of(1, first, 2, second),
                level == 0 ? Map.of() : Map.of("transaction.version", level),
                new KafkaCommands(WeirConfig.DEFAULTS),
                collector);
        assertThat(findings).singleElement().satisfies(one -> {
            assertThat(one.verdict()).isEqualTo(verdict);
            assertThat(one.found()).startsWith(found);
            if (advice == null) {
                assertThat(one.advice()).isEmpty();
            } else {
                assertThat(one.advice()).singleElement().asString().startsWith(advice);
                assertThat(one.advice().get(0))
                        .endsWith("kafka-features.sh --bootstrap-server localhost:9092"
                                + " upgrade --feature transaction.version=2");
            }
        });
    }

    @ParameterizedTest
    @CsvSource({
        "true,  true,  true",
        "true,  false, false",
        "false, false, true", // a managed service that hides most settings of its brokers
    })
    void brokers_without_a_setting_of_the_changelogs_are_too_old(
            boolean showsTimestampType, boolean knowsTimestampAfterMax, boolean isNewEnough) {
        List<ConfigEntry> entries = new ArrayList<>();
        if (showsTimestampType) {
            entries.add(new ConfigEntry("log.message.timestamp.type", "CreateTime"));
        }
        if (knowsTimestampAfterMax) {
            entries.add(new ConfigEntry("log.message.timestamp.after.max.ms", "3600000"));
        }
        assertThat(BrokerSettingChecks.areSupported(List.of(new Config(entries)), collector))
                .isEqualTo(isNewEnough);
        if (isNewEnough) {
            assertThat(findings).isEmpty();
        } else {
            assertThat(findings).singleElement().satisfies(one -> {
                assertThat(one.verdict()).isEqualTo(Verdict.FAIL);
                assertThat(one.advice()).containsExactly("upgrade all brokers to Kafka 3.6 or newer");
            });
        }
    }
}
