package dev.weir.client.throttle;

import dev.weir.client.WeirClient;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.Deserializer;

/**
 * The settings of a {@link ThrottledConsumer}. Not thread-safe.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
public final class ThrottledConsumerBuilder<K, V> {

    private final Map<String, Object> kafka = new HashMap<>();
    private final Deserializer<K> keys;
    private final Deserializer<V> values;
    private final WeirClient weir;
    private final Function<ConsumerRecord<K, V>, Request> requests;
    private BiFunction<ConsumerRecord<K, V>, Decision, NeverAllowed> onNeverAllowed =
            (record, decision) -> NeverAllowed.THROW;
    private BiFunction<ConsumerRecord<K, V>, IllegalArgumentException, NeverAllowed> onInvalid =
            (record, failure) -> NeverAllowed.THROW;
    private int maxHeld = 1_000;
    private int ahead = 32;

    ThrottledConsumerBuilder(
            Map<?, ?> kafka,
            Deserializer<K> keys,
            Deserializer<V> values,
            WeirClient weir,
            Function<ConsumerRecord<K, V>, Request> requests) {
        kafka.forEach((name, value) -> this.kafka.put(String.valueOf(name), value));
        this.kafka.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        this.keys = keys;
        this.values = values;
        this.weir = weir;
        this.requests = requests;
    }

    /**
     * Sets what happens to a record that no later attempt can pass. Its cost exceeds the capacity of a limit, the limit
     * is 0, it is too large, its request id was used with other content, or a policy sends it to a queue. The function
     * gets the record and the decision. By default it returns {@link NeverAllowed#THROW}.
     *
     * @param function called by the thread of the consumer, also again for the same record. If it throws,
     *     {@link ThrottledConsumer#poll} throws the exception and calls it again later
     * @return this builder
     */
    public ThrottledConsumerBuilder<K, V> onNeverAllowed(
            BiFunction<ConsumerRecord<K, V>, Decision, NeverAllowed> function) {
        onNeverAllowed = function;
        return this;
    }

    /**
     * Sets what happens to a record without a valid request: the function that makes requests throws an exception, or
     * its request is invalid, for example because the record has no key. The function gets the record and an exception
     * whose message names topic, partition and offset. By default it returns {@link NeverAllowed#THROW}.
     *
     * @param function called by the thread of the consumer, also again for the same record. If it throws,
     *     {@link ThrottledConsumer#poll} throws the exception and calls it again later
     * @return this builder
     */
    public ThrottledConsumerBuilder<K, V> onInvalid(
            BiFunction<ConsumerRecord<K, V>, IllegalArgumentException, NeverAllowed> function) {
        onInvalid = function;
        return this;
    }

    /**
     * Sets how many records are buffered: received from the broker, and not returned yet. Each partition has an equal
     * share; one that has used it up is paused. {@code max.poll.records} for each partition are added to it. The
     * default is 1,000.
     *
     * @param value the number of records, at least 1
     * @return this builder
     * @throws IllegalArgumentException if the value is below 1
     */
    public ThrottledConsumerBuilder<K, V> maxHeld(int value) {
        require(value >= 1, "maxHeld must be at least 1", value);
        maxHeld = value;
        return this;
    }

    /**
     * Sets for how many records of a partition decisions are requested at the same time. Larger values give more
     * throughput. Records whose requests were decided ahead are charged even if their partition is revoked before they
     * are returned. The default is 32.
     *
     * @param value the number of records, at least 1
     * @return this builder
     * @throws IllegalArgumentException if the value is below 1
     */
    public ThrottledConsumerBuilder<K, V> ahead(int value) {
        require(value >= 1, "ahead must be at least 1", value);
        ahead = value;
        return this;
    }

    /**
     * Creates a consumer, which joins its group with the first call of {@link ThrottledConsumer#poll} after
     * {@link ThrottledConsumer#subscribe}.
     *
     * @return a consumer, to be closed by the caller
     * @throws IllegalArgumentException if there is no {@code group.id}
     * @throws KafkaException if the properties are invalid
     */
    public ThrottledConsumer<K, V> start() {
        Object group = kafka.get(ConsumerConfig.GROUP_ID_CONFIG);
        require(group != null, "group.id is required", "missing");
        return new ThrottledConsumer<>(new KafkaConsumer<>(kafka, keys, values), group.toString(), weir::decide, this);
    }

    Function<ConsumerRecord<K, V>, Request> requests() {
        return requests;
    }

    BiFunction<ConsumerRecord<K, V>, Decision, NeverAllowed> onNeverAllowed() {
        return onNeverAllowed;
    }

    BiFunction<ConsumerRecord<K, V>, IllegalArgumentException, NeverAllowed> onInvalid() {
        return onInvalid;
    }

    int maxHeld() {
        return maxHeld;
    }

    int ahead() {
        return ahead;
    }

    private static void require(boolean holds, String rule, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(rule + ", is " + value);
        }
    }
}
