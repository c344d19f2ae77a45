package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.failure.check.Evidence;
import dev.weir.failure.check.Oracle;
import dev.weir.failure.load.FailurePolicies;
import dev.weir.failure.load.TraceWorkload;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import java.time.Instant;

/** A run with every algorithm, queues, policy changes that take effect at once and bad records, once for a JVM. */
final class TracedRun {

    static final int ROUNDS = 8;
    static final int A_ROUND = 500;

    private static TracedRun shared;

    /** A moment at which the requests of about half of the rounds were answered. */
    private final Instant middle;

    private TracedRun(Instant middle) {
        this.middle = middle;
    }

    static synchronized TracedRun shared() throws Exception {
        if (shared == null) {
            shared = new TracedRun(run(AuditHarness.shared()));
        }
        return shared;
    }

    Instant middle() {
        return middle;
    }

    private static Instant run(AuditHarness audits) throws Exception {
        WeirConfig config = audits.config("weir.");
        audits.create(config, FailurePolicies.INITIAL);
        FailurePolicies changes = new FailurePolicies(1);
        TraceWorkload workload = new TraceWorkload(1, System::currentTimeMillis);
        Instant middle = Instant.MIN;
        try (Enforcer enforcer = Enforcer.start(config);
                RequestSender sender = new RequestSender(config)) {
            enforcer.awaitRunning(AuditHarness.PATIENCE);
            for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < A_ROUND; i++) {
                    sender.send(workload.next());
                    if (i == A_ROUND / 2) { // in the middle of the round
                        audits.apply(config, changes.next(0));
                    }
                }
                audits.sendBad("client-1", new byte[] {1, 2, 3});
                audits.sendBad(null, null);
                if (round == ROUNDS / 2) {
                    sender.flush();
                    audits.awaitAnswers(config, (round + 1) * A_ROUND * 99 / 100); // dead letters have their own times
                    middle = Instant.now();
                }
            }
            sender.flush();
            assertThat(Oracle.isSettled(Evidence.readSettled(config, AuditHarness.PATIENCE)))
                    .isTrue();
        }
        return middle;
    }
}
