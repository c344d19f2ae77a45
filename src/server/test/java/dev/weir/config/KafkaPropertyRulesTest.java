package dev.weir.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class KafkaPropertyRulesTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            bootstrap.servers                           | kafka-1          | must be host:port, or several
            bootstrap.servers                           | a:9092,b         | must be host:port, or several
            producer.bootstrap.servers                  | a:9092 b:9092    | must be host:port, or several
            application.id                              | x                | must not be set: use application-id
            application.server                          | a:1              | must not be set: use service.advertise
            processing.guarantee                        | exactly_once     | must be exactly_once_v2 or at_least_once
            isolation.level                             | read_uncommitted | must be read_committed
            main.consumer.isolation.level               | read_uncommitted | must be read_committed
            restore.consumer.isolation.level            | read_uncommitted | must be read_committed
            global.consumer.isolation.level             | read_uncommitted | must be read_committed
            enable.idempotence                          | false            | must be true
            producer.enable.idempotence                 | false            | must be true
            producer.acks                               | 1                | must be all or -1
            group.protocol                              | streams          | must be classic
            consumer.group.protocol                     | consumer         | must be classic
            topic.cleanup.policy                        | delete           | must be compact
            producer.max.request.size                   | 3145727          | must be at least 3145728
            main.consumer.group.id                      | x                | must not be set: Weir sets it
            producer.transactional.id                   | x                | must not be set: Weir sets it
            auto.offset.reset                           | latest           | must not be set: Weir reads
            consumer.auto.offset.reset                  | earliest         | must not be set: Weir reads
            enable.auto.commit                          | true             | must not be set: Weir reads
            production.exception.handler                | a.Handler        | another handler could lose records
            default.production.exception.handler        | a.Handler        | another handler could lose records
            deserialization.exception.handler           | a.Handler        | another handler could lose records
            default.deserialization.exception.handler   | a.Handler        | another handler could lose records
            processing.exception.handler                | a.Handler        | another handler could lose records
            producer.partitioner.class                  | a.Partitioner    | must stay on one partition
            partitioner.ignore.keys                     | true             | must stay on one partition
            """)
    void properties_that_break_a_guarantee_are_rejected_by_key(String key, String value, String reported) {
        assertThatThrownBy(() -> WeirConfig.DEFAULTS.withKafka(key, value))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("kafka." + key + " must ")
                .hasMessageContaining(reported);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "bootstrap.servers=kafka-1.example:9092, 10.0.0.1:9093,[::1]:9092,PLAINTEXT://b:1",
                "processing.guarantee=at_least_once",
                "isolation.level=read_committed",
                "acks=-1",
                "enable.idempotence=true",
                "max.request.size=3145728",
                "topic.cleanup.policy=compact",
                "group.instance.id=weir-0",
                "main.consumer.session.timeout.ms=10000",
                "num.standby.replicas=1",
                "transaction.timeout.ms=5000"
            })
    void other_properties_can_be_set(String property) {
        int equals = property.indexOf('=');
        String key = property.substring(0, equals);
        String value = property.substring(equals + 1);
        assertThat(WeirConfig.DEFAULTS.withKafka(key, value).kafka()).containsEntry(key, value);
    }
}
