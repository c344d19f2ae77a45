package dev.weir.failure.process;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.Topics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Measurements of an instance: lag, memory and disk usage. */
public final class InstanceGauge {

    private static final Pattern RSS = Pattern.compile("VmRSS:\\s+(\\d+) kB");
    private static final Pattern LEFT_BY_GC = Pattern.compile("->(\\d+)M\\(");

    private InstanceGauge() {}

    /** Returns the number of requests that have no committed decision yet. */
    public static long lag(Admin admin, WeirConfig config) throws ExecutionException, InterruptedException {
        return lag(
                admin,
                config.applicationId(),
                Topics.of(config).requests(),
                config.topics().partitions());
    }

    /** Returns the lag of a group on a topic, in records. */
    static long lag(Admin admin, String group, String topic, int partitions)
            throws ExecutionException, InterruptedException {
        Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
        for (int partition = 0; partition < partitions; partition++) {
            latest.put(new TopicPartition(topic, partition), OffsetSpec.latest());
        }
        Map<TopicPartition, OffsetAndMetadata> read = admin.listConsumerGroupOffsets(group)
                .partitionsToOffsetAndMetadata()
                .get();
        return admin.listOffsets(latest).all().get().entrySet().stream()
                .mapToLong(end -> end.getValue().offset()
                        - (read.get(end.getKey()) == null
                                ? 0
                                : read.get(end.getKey()).offset()))
                .sum();
    }

    /** Returns the resident memory of a process in MiB, 0 if the process has ended. */
    public static long rssMiB(long pid) throws IOException {
        Path status = Path.of("/proc/" + pid + "/status");
        if (!Files.exists(status)) {
            return 0;
        }
        Matcher rss = RSS.matcher(Files.readString(status));
        return rss.find() ? Long.parseLong(rss.group(1)) >> 10 : 0;
    }

    /** Returns the maximum heap usage after a garbage collection in MiB, from the output of {@code -Xlog:gc}. */
    public static long heapMiB(Path log) throws IOException {
        List<String> lines = Files.readAllLines(log);
        long most = 0;
        for (String line : lines) {
            Matcher left = LEFT_BY_GC.matcher(line);
            most = left.find() ? Math.max(most, Long.parseLong(left.group(1))) : most;
        }
        return most;
    }

    /** Returns the size of all files below a directory, in bytes. */
    public static long bytes(Path directory) throws IOException {
        try (var files = Files.walk(directory)) {
            return files.mapToLong(
                            file -> file.toFile().isFile() ? file.toFile().length() : 0)
                    .sum();
        }
    }
}
