package dev.weir.examples;

import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.client.throttle.NeverAllowed;
import dev.weir.client.throttle.ThrottledConsumer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A consumer that sends the mails of a topic as fast as the policies permit. The records of the topic have the tenant as
 * key and the mail as value. Each mail has the attribute {@code operation} with the value {@code send-mail} and costs
 * one token.
 */
public final class ThrottledMailer implements AutoCloseable {

    private static final Duration POLL = Duration.ofSeconds(1);

    private final WeirClient weir;
    private final ThrottledConsumer<String, String> mails;
    private final Consumer<String> send;

    /**
     * Creates a mailer, which sends mails while {@link #run} runs.
     *
     * @param kafka properties of Kafka's clients, at least {@code bootstrap.servers}
     * @param topic the topic of the mails
     * @param send sends a mail; if it throws, {@link #run} throws the same
     */
    public ThrottledMailer(Map<String, Object> kafka, String topic, Consumer<String> send) {
        this.send = send;
        weir = WeirClient.builder(kafka).timeout(Duration.ofSeconds(2)).start();
        Map<String, Object> group = new HashMap<>(kafka);
        group.put("group.id", "mailer");
        group.put("auto.offset.reset", "earliest");
        mails = ThrottledConsumer.builder(
                        group, new StringDeserializer(), new StringDeserializer(), weir, mail -> RequestBuilder.of(
                                        mail.key())
                                .attribute("operation", "send-mail")
                                .build())
                .onNeverAllowed((mail, decision) -> NeverAllowed.SKIP)
                .onInvalid((mail, failure) -> {
                    System.err.println("skipped: " + failure.getMessage()); // for example, it has no key
                    return NeverAllowed.SKIP;
                })
                .start();
        mails.subscribe(List.of(topic));
    }

    /** Sends mails until {@link #stop} is called. */
    public void run() {
        try {
            while (true) {
                for (ConsumerRecord<String, String> mail : mails.poll(POLL)) {
                    send.accept(mail.value());
                }
                mails.commit();
            }
        } catch (WakeupException e) {
            // stop() was called
        }
    }

    /** Ends {@link #run}. Can be called by any thread. */
    public void stop() {
        mails.wakeup();
    }

    @Override
    public void close() {
        mails.close();
        weir.close();
    }

    /**
     * Sends mails until the process is stopped.
     *
     * @param args the brokers, such as {@code localhost:9092}, and the topic
     */
    public static void main(String[] args) {
        ThrottledMailer mailer =
                new ThrottledMailer(Map.of("bootstrap.servers", args[0]), args[1], System.out::println);
        CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            mailer.stop();
            try {
                closed.await(); // the process ends when all hooks have ended, so they must wait for the commit
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }));
        try (mailer) {
            mailer.run();
        } finally {
            closed.countDown();
        }
    }
}
