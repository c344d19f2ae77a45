package dev.weir.rules;

import dev.weir.config.WeirConfig;
import dev.weir.topics.TopicLog;
import dev.weir.topics.UnreachableException;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.UnreadableException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The versions that policies and queues had, also those that are gone from the policies topic. Nothing is read before
 * it is asked for.
 */
final class PolicyHistory implements AutoCloseable {

    private final WeirConfig config;
    private final String topic;
    private final Map<String, Long> last = new HashMap<>();
    private TopicLog log;

    PolicyHistory(WeirConfig config, String topic) {
        this.config = config;
        this.topic = topic;
    }

    /**
     * The last version of each that there ever was, by the key of its policy or queue.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    Map<String, Long> last() {
        log().readAll((key, value) -> {
            if (key != null) {
                count(key);
            }
        });
        return last;
    }

    /** What the record holds does not matter: another version of Weir may have written it. */
    private void count(String key) {
        int slash = key.lastIndexOf('/');
        try {
            last.merge(key.substring(0, Math.max(0, slash)), Long.parseLong(key.substring(slash + 1)), Math::max);
        } catch (NumberFormatException e) {
            // no version's key
        }
    }

    /**
     * The versions of one, newest first.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    List<PolicyAvro.Applied> of(String key) {
        Map<String, byte[]> versions = new LinkedHashMap<>();
        log().readAll((ofVersion, value) -> {
            if (ofVersion != null && ofVersion.startsWith(key + "/")) {
                versions.remove(ofVersion); // the last written is the newest
                versions.put(ofVersion, value);
            }
        });
        PolicyAvro avro = new PolicyAvro();
        List<PolicyAvro.Applied> newestFirst = new ArrayList<>();
        for (byte[] version : versions.values()) {
            try {
                if (version != null) {
                    newestFirst.add(0, avro.decode(key, version));
                }
            } catch (UnreadableException e) {
                // not written by this version of Weir
            }
        }
        return newestFirst;
    }

    private TopicLog log() {
        log = log == null ? new TopicLog(config, topic) : log;
        return log;
    }

    @Override
    public void close() {
        if (log != null) {
            log.close();
        }
    }
}
