package dev.weir.rules;

import dev.weir.config.WeirConfig;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.UnreachableException;
import dev.weir.topics.TopicLog;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The versions of policies and queues, including those that are no longer on the policies topic. The topic is read when
 * a method needs it.
 */
final class PolicyHistory implements PastVersions, AutoCloseable {

    private final WeirConfig config;
    private final String topic;
    private final Map<String, Long> last = new HashMap<>();
    private TopicLog log;

    PolicyHistory(WeirConfig config, String topic) {
        this.config = config;
        this.topic = topic;
    }

    /**
     * Returns the last version that each policy or queue ever had, by key.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    @Override
    public Map<String, Long> last() {
        log().readAll((key, value) -> {
            if (key != null) {
                count(key);
            }
        });
        return last;
    }

    /** @throws UnreachableException if the topic cannot be read */
    @Override
    public Map<String, Long> containing(Map<String, String> definitions) {
        Map<String, Long> found = new HashMap<>();
        PolicyAvro avro = new PolicyAvro();
        try (TopicLog all = new TopicLog(config, topic)) {
            all.readAll((ofVersion, value) -> {
                String key = ofVersion == null ? "" : ofVersion.substring(0, Math.max(0, ofVersion.lastIndexOf('/')));
                String wanted = value == null ? null : definitions.get(key);
                if (wanted == null) {
                    return;
                }
                try {
                    PolicyAvro.Applied version = avro.decode(key, value);
                    if (wanted.equals(version.definition())) {
                        found.merge(key, version.version(), Math::max);
                    }
                } catch (UnreadableException e) {
                    // not written by this version of Weir
                }
            });
        }
        return found;
    }

    /** Uses only the key: another version of Weir may have written the record. */
    private void count(String key) {
        int slash = key.lastIndexOf('/');
        try {
            last.merge(key.substring(0, Math.max(0, slash)), Long.parseLong(key.substring(slash + 1)), Math::max);
        } catch (NumberFormatException e) {
            // not the key of a version
        }
    }

    /**
     * Returns the versions of one policy or queue, newest first.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    List<PolicyAvro.Applied> of(String key) {
        return of(key, key);
    }

    /**
     * Returns the commands that were sent to a queue, newest first. Each has the form of a version of the queue, with
     * the command as the definition.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    List<PolicyAvro.Applied> commands(String queue) {
        return of(commandKey(queue), PolicyAvro.key(PolicyAvro.Kind.QUEUE, queue));
    }

    /** Returns the start of the keys of a queue's commands; the number of the command follows. */
    static String commandKey(String queue) {
        return "command/" + queue;
    }

    /** @param decoded the key by which the records are decoded */
    private List<PolicyAvro.Applied> of(String key, String decoded) {
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
                    newestFirst.add(0, avro.decode(decoded, version));
                }
            } catch (UnreadableException e) {
                // not written by this version of Weir
            }
        }
        return newestFirst;
    }

    /** Returns the key of a version in the history. */
    static String key(PolicyAvro.Applied version) {
        return version.key() + "/" + version.version();
    }

    /**
     * Returns some versions by their {@linkplain #key keys}, without those that are not in the history any more.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    Map<String, PolicyAvro.Applied> versions(Set<String> keys) {
        Map<String, PolicyAvro.Applied> found = new HashMap<>();
        PolicyAvro avro = new PolicyAvro();
        log().readAll((ofVersion, value) -> {
            if (value != null && keys.contains(ofVersion)) {
                try {
                    found.put(ofVersion, avro.decode(ofVersion.substring(0, ofVersion.lastIndexOf('/')), value));
                } catch (UnreadableException e) {
                    // not written by this version of Weir
                }
            }
        });
        return found;
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
