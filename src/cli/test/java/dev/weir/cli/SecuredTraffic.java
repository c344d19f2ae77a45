package dev.weir.cli;

import dev.weir.event.Request;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A request for a queue, an invalid request record, an invalid policy record, and a misplaced request. */
record SecuredTraffic(SecuredCluster cluster, int number) {

    void send() throws Exception {
        cluster.command(
                "requester",
                "send",
                cluster.write("request.ndjson", """
                {"requestId":"r","client":"client-%d","tier":"free","attributes":{"endpoint":"/sms"}}
                """.formatted(number)).toString());
        write("requester", "weir.requests", "any", "no request " + number);
        write("rules", "weir.policies", "policy/free", "no policy " + number);
    }

    /** Sends a request without a key to a partition other than that of its client. */
    void misplace() throws Exception {
        Request request = Request.builder("r", misplaced()).tier("free").build();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                new HashMap<>(cluster.client("requester")), new ByteArraySerializer(), new ByteArraySerializer())) {
            int partitions = producer.partitionsFor("weir.requests").size();
            byte[] client = misplaced().getBytes(StandardCharsets.UTF_8);
            int other = (BuiltInPartitioner.partitionForKey(client, partitions) + 1) % partitions;
            producer.send(new ProducerRecord<>("weir.requests", other, null, new RequestCodec().encode(request)))
                    .get();
        }
    }

    boolean isMisplacedDecided() {
        return cluster.read("reader", "weir.decisions").stream()
                .anyMatch(one -> one.key().equals(misplaced()));
    }

    private String misplaced() {
        return "misplaced-" + number;
    }

    boolean isAnswered() {
        List<String> deadLetters = cluster.read("reader", "weir.dead-letters").stream()
                .map(SecuredTraffic::text)
                .toList();
        return deadLetters.containsAll(List.of("no request " + number, "no policy " + number))
                && cluster.read("reader", "weir.releases").stream()
                        .anyMatch(one -> one.key().equals("client-" + number))
                && cluster.read("rules", "weir.policies").stream()
                        .filter(one -> one.key().equals("policy/free"))
                        .reduce((one, later) -> later)
                        .filter(last -> !text(last).equals("no policy " + number))
                        .isPresent();
    }

    void write(String role, String topic, String key, String value) throws Exception {
        try (KafkaProducer<String, byte[]> producer = new KafkaProducer<>(
                new HashMap<>(cluster.client(role)), new StringSerializer(), new ByteArraySerializer())) {
            producer.send(new ProducerRecord<>(topic, key, value.getBytes(StandardCharsets.UTF_8)))
                    .get();
        }
    }

    private static String text(ConsumerRecord<String, byte[]> record) {
        return new String(record.value(), StandardCharsets.UTF_8);
    }
}
