package dev.weir.doctor;

import com.sun.management.OperatingSystemMXBean;
import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.State;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.runtime.StateDirectoryCheck;
import dev.weir.topology.StreamsSettings;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.streams.StreamsConfig;

/** Checks the conditions that {@code weir run} would have on this machine with this configuration. */
final class MachineChecks {

    private static final long MIB = 1L << 20;

    /**
     * The approximate memory that a JVM uses in addition to its heap and RocksDB: classes, threads, network buffers.
     */
    private static final long JVM_OVERHEAD_BYTES = 256 * MIB;

    private static final long MIN_HEAP_BYTES = 256 * MIB;
    private static final long MIN_FREE_BYTES = 100 * MIB;
    private static final long RECOMMENDED_FREE_BYTES = 1024 * MIB;

    private static final Pattern PREFIXED_PROPERTY =
            Pattern.compile("((main|restore|global)\\.consumer|consumer|producer|admin|topic)\\.(.*)");

    private MachineChecks() {}

    static void java(ClusterView cluster, FindingCollector findings) {
        findings.ok(Runtime.version() + ", " + System.getProperty("java.vm.vendor"));
    }

    static void memory(ClusterView cluster, FindingCollector findings) {
        State state = cluster.config().state();
        long all = ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getTotalMemorySize();
        memory(Runtime.getRuntime().maxMemory(), all, state, findings);
    }

    /** @param all the memory of the machine or its container */
    static void memory(long heap, long all, State state, FindingCollector findings) {
        long configured = heap + state.memoryBytes() + JVM_OVERHEAD_BYTES;
        String sum = "heap " + mib(heap) + ", state.memory " + mib(state.memoryBytes()) + ", about "
                + mib(JVM_OVERHEAD_BYTES) + " for the JVM: " + mib(configured) + " of " + mib(all);
        if (configured > all) {
            long left = all - state.memoryBytes() - JVM_OVERHEAD_BYTES;
            findings.warn(
                    sum + ": the operating system may kill the process",
                    left >= MIN_HEAP_BYTES
                            ? "export JAVA_TOOL_OPTIONS=-Xmx" + left / MIB + "m"
                            : "in the configuration file: state: {memory: "
                                    + Math.max(16, (all - MIN_HEAP_BYTES - JVM_OVERHEAD_BYTES) / MIB / 2) + "MiB}");
        } else if (state.hotMemoryBytes() > heap / 2) {
            findings.warn(
                    "state.hot-memory " + mib(state.hotMemoryBytes()) + " is more than half of the heap, " + mib(heap),
                    "in the configuration file: state: {hot-memory: " + heap / 4 / MIB + "MiB}");
        } else {
            findings.ok(sum);
        }
    }

    static void stateDirectory(ClusterView cluster, FindingCollector findings) {
        stateDirectory(cluster.config().state().directory(), findings);
    }

    private static void stateDirectory(Path directory, FindingCollector findings) {
        Path there = directory.toAbsolutePath();
        while (!Files.exists(there)) {
            there = there.getParent();
        }
        if (!Files.isDirectory(there) || !Files.isWritable(there)) {
            findings.fail(
                    directory + ": " + there + " is not writable by " + System.getProperty("user.name"),
                    "sudo install -d -o " + System.getProperty("user.name") + " " + directory);
            return;
        }
        Optional<String> fault = StateDirectoryCheck.fault(directory);
        if (fault.isPresent()) {
            findings.fail(
                    directory + ": " + fault.get(), "in the configuration file: state: {directory: /var/lib/weir}");
            return;
        }
        long free;
        try {
            free = Files.getFileStore(there).getUsableSpace();
        } catch (IOException e) {
            findings.fail(directory + ": " + e, "repair the disk, or set state.directory to another directory");
            return;
        }
        String found = directory + ": " + describeContents(directory) + ", " + mib(free) + " free";
        if (free < RECOMMENDED_FREE_BYTES) {
            findings.add(
                    free < MIN_FREE_BYTES ? Finding.Verdict.FAIL : Finding.Verdict.WARN,
                    found + ": an instance stops processing when its disk is full",
                    "free disk space, or set state.directory to a larger disk");
        } else if (WeirConfig.DEFAULTS.state().directory().equals(directory)) {
            findings.warn(
                    found + "; this default is for trials: a restart of the machine may delete the state, which is then"
                            + " restored from the brokers",
                    "in the configuration file: state: {directory: /var/lib/weir}");
        } else {
            findings.ok(found);
        }
    }

    /** Describes the contents by size and age. Trying the directory's lock could prevent the start of an instance. */
    private static String describeContents(Path directory) {
        File[] files = directory.toFile().listFiles();
        if (files == null || files.length == 0) {
            return directory.toFile().exists() ? "empty" : "does not exist yet";
        }
        long[] sizeAndTime = {0, 0};
        measure(directory.toFile(), sizeAndTime);
        long ageMs = Math.max(0, System.currentTimeMillis() - sizeAndTime[1]);
        return "contains " + mib(sizeAndTime[0]) + ", last written " + DurationsAndSizes.rounded(ageMs) + " ago";
    }

    /** Adds up the sizes. Files may be deleted in the meantime. */
    private static void measure(File file, long[] sizeAndTime) {
        File[] inside = file.listFiles();
        if (inside == null) {
            sizeAndTime[0] += file.length();
            sizeAndTime[1] = Math.max(sizeAndTime[1], file.lastModified());
            return;
        }
        for (File one : inside) {
            measure(one, sizeAndTime);
        }
    }

    /** Checks for settings that are permitted but harmful. Invalid settings are rejected when the file is read. */
    static void configuration(ClusterView cluster, FindingCollector findings) {
        WeirConfig config = cluster.config();
        boolean isGood = true;
        if ("at_least_once".equals(config.kafka().get("processing.guarantee"))) {
            isGood = false;
            findings.warn(
                    "kafka.processing.guarantee is at_least_once: after a crash, requests may be charged twice and"
                            + " releases written twice",
                    "in the configuration file: kafka: {processing.guarantee: exactly_once_v2}");
        }
        Duration session = StreamsSettings.session(config);
        Duration transaction = StreamsSettings.transaction(config);
        if (transaction.compareTo(session) <= 0) {
            isGood = false;
            findings.warn(
                    "transaction.timeout.ms is " + transaction.toMillis() + ", session.timeout.ms " + session.toMillis()
                            + ": when one instance fails, the transactions of the others are aborted too, and they"
                            + " restore all state",
                    "in the configuration file: kafka: {producer.transaction.timeout.ms: "
                            + session.plusSeconds(2).toMillis() + "}");
        }
        for (String key : unknownProperties(config)) {
            isGood = false;
            findings.warn(
                    "kafka." + key + " is not a property of Kafka's clients or Streams: it has no effect",
                    "correct its name in the configuration file, or remove it");
        }
        if (isGood) {
            findings.ok("no harmful settings");
        }
    }

    private static Set<String> unknownProperties(WeirConfig config) {
        Set<String> known = new TreeSet<>(StreamsConfig.configDef().names());
        known.addAll(ProducerConfig.configNames());
        known.addAll(ConsumerConfig.configNames());
        known.addAll(AdminClientConfig.configNames());
        Set<String> unknown = new TreeSet<>(config.kafka().keySet());
        unknown.removeIf(key -> {
            var addressed = PREFIXED_PROPERTY.matcher(key);
            return known.contains(addressed.matches() ? addressed.group(3) : key)
                    || key.startsWith("topic.")
                    || key.startsWith("config.providers.");
        });
        return unknown;
    }

    private static String mib(long bytes) {
        return bytes < 10 * 1024 * MIB
                ? (bytes + MIB - 1) / MIB + " MiB"
                : String.format(Locale.ROOT, "%.1f GiB", bytes / 1024.0 / MIB);
    }
}
