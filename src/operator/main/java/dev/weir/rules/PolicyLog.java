package dev.weir.rules;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFold;
import dev.weir.kafka.UnreachableException;
import dev.weir.topics.TopicLog;
import dev.weir.wire.PolicyAvro;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The contents of the policies topic. The first read starts at the beginning, each later one continues where the
 * previous one ended, so it takes only what is new. Not thread-safe.
 */
final class PolicyLog implements AutoCloseable {

    private final WeirConfig config;
    private final String topic;
    private PolicyFold<PolicyAvro.Applied> onTopic = PolicyFold.ofRecords();
    private final SortedMap<String, String> broken = new TreeMap<>();
    private TopicLog log;

    /** A callback for good records that are read. */
    interface Listener {
        void isRead(PolicyAvro.Applied record);
    }

    PolicyLog(WeirConfig config, String topic) {
        this.config = config;
        this.topic = topic;
    }

    /** Returns the definitions as of the last read. */
    PolicyFold<PolicyAvro.Applied> onTopic() {
        return onTopic;
    }

    /** Returns the reason for each key whose last record is invalid, as of the last read. */
    SortedMap<String, String> broken() {
        return new TreeMap<>(broken);
    }

    /**
     * Reads the new records up to the first open transaction.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    void readSeen() {
        read(each -> log().readSeen(each), record -> {});
    }

    /**
     * Reads all new records that were committed before this call.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    void readAll(Listener listener) {
        read(each -> log().readAll(each), listener);
    }

    private interface Reading {
        void into(TopicLog.Records records);
    }

    private void read(Reading reading, Listener listener) {
        boolean isDone = false;
        try {
            if (log != null && log.isShorter()) {
                close(); // the topic was deleted and created again
            }
            reading.into((key, value) -> add(key, value, listener));
            isDone = true;
        } finally {
            if (!isDone) {
                close(); // some records may be read, and the position is not known
            }
        }
    }

    private void add(String key, byte[] value, Listener listener) {
        PolicyFold.Step step = onTopic.add(key, value);
        if (step instanceof PolicyFold.Step.Reject reject) {
            broken.put(String.valueOf(key), reject.fault().getMessage());
            return;
        }
        broken.remove(key);
        if (step instanceof PolicyFold.Step.Put put) {
            listener.isRead(put.rules().applied());
        }
    }

    private TopicLog log() {
        log = log == null ? new TopicLog(config, topic) : log;
        return log;
    }

    /** Forgets what was read. The next read starts at the beginning. */
    @Override
    public void close() {
        TopicLog open = log;
        log = null;
        onTopic = PolicyFold.ofRecords();
        broken.clear();
        if (open != null) {
            open.close();
        }
    }
}
