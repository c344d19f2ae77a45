package dev.weir.failure.process;

import dev.weir.client.release.ReleaseFailedException;
import dev.weir.client.release.ReleaseTask;
import dev.weir.client.release.ReleaseWorker;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A program that processes the releases of all queues until it is killed. It prints each attempt of a queue with slots
 * before it starts. Of these jobs, some fail, some for good, some take long, and some longer than they may.
 */
public final class JobWorker {

    /** The start of a line about an attempt; requestId and number of the attempt follow. */
    static final String STARTS = "starts ";

    private JobWorker() {}

    /** @param args the brokers, the group, and the prefix of the topics */
    public static void main(String[] args) throws Exception {
        Map<String, String> kafka = Map.of("bootstrap.servers", args[0], "group.id", args[1]);
        try (ReleaseWorker worker = ReleaseWorker.builder(kafka, JobWorker::handle)
                .prefix(args[2])
                .threads(8)
                .start()) {
            Thread.currentThread().join(); // it is killed
        }
    }

    private static void handle(ReleaseTask task) throws Exception {
        if (task.release().attempt() == null) {
            return;
        }
        System.out.println(STARTS + task.release().requestId() + " " + task.attempt());
        ThreadLocalRandom random = ThreadLocalRandom.current();
        switch (random.nextInt(50)) {
            case 0, 1, 2, 3, 4, 5 -> throw new IllegalStateException("this attempt fails");
            case 6, 7 -> throw new ReleaseFailedException("this job cannot be done");
            case 8, 9 -> Thread.sleep(2_000 + random.nextInt(10_000));
            case 10 -> Thread.sleep(22_000); // longer than max-duration
            default -> Thread.sleep(10 + random.nextInt(300));
        }
    }
}
