package dev.weir.doctor;

import dev.weir.config.WeirConfig;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.transaction.TransactionInspector;
import dev.weir.transaction.TransactionVerdict;
import dev.weir.transaction.TransactionVerdict.MarkerMissing;
import dev.weir.transaction.TransactionVerdict.MayRun;
import dev.weir.transaction.TransactionVerdict.NeverJoined;
import dev.weir.transaction.TransactionVerdict.Running;
import dev.weir.transaction.TransactionVerdict.Undecided;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;

/** Ends the hanging transactions that {@code weir doctor} reports, after a check of the coordinator's state. */
public final class HangingTransactionFix {

    /** The command that runs the fix. */
    static final String COMMAND = "weir doctor --fix hanging-transactions";

    /**
     * The number of transactions of each result.
     *
     * @param ended those that were committed or aborted, or have ended meanwhile
     * @param left those that still hang
     */
    public record Result(int ended, int left) {}

    private final TransactionInspector inspector;
    private final Predicate<String> isConfirmed;
    private final boolean isCertainOnly;
    private final Consumer<String> out;
    private final Duration longest;

    private HangingTransactionFix(
            TransactionInspector inspector,
            Predicate<String> isConfirmed,
            boolean isCertainOnly,
            Consumer<String> out) {
        this.inspector = inspector;
        this.isConfirmed = isConfirmed;
        this.isCertainOnly = isCertainOnly;
        this.out = out;
        longest = inspector.longestTransaction();
    }

    /**
     * Ends the hanging transactions, each after a confirmation. Running transactions are left alone, and those of which
     * no coordinator reports the id for as long as they could run.
     *
     * @param isConfirmed asks an operator; its argument is a question that says what will be done
     * @param isCertainOnly whether transactions are left alone, without a question, if it is not known how they ended
     * @param out receives one line for each transaction
     */
    public static Result run(
            WeirConfig config, Predicate<String> isConfirmed, boolean isCertainOnly, Consumer<String> out) {
        try (ClusterView cluster = new ClusterView(config, List.of(), false, HttpClient.newHttpClient())) {
            Set<String> refused = new TreeSet<>();
            List<TransactionChecks.Judged> found = TransactionChecks.find(cluster, refused).stream()
                    .filter(one -> !(one.verdict() instanceof Running))
                    .toList();
            int ended = 0;
            if (!found.isEmpty()) {
                HangingTransactionFix fix = new HangingTransactionFix(
                        new TransactionInspector(cluster.admin(), cluster.config()), isConfirmed, isCertainOnly, out);
                ended = (int) found.stream().filter(fix::isEnded).count();
            }
            if (!refused.isEmpty()) {
                out.accept("not checked, because this user lacks READ: " + String.join(", ", refused));
            }
            return new Result(ended, found.size() - ended);
        }
    }

    private boolean isEnded(TransactionChecks.Judged one) {
        TransactionVerdict verdict = one.verdict();
        String found = one.open() + ": " + TransactionInspector.describe(verdict);
        if (!isProved(verdict) && isCertainOnly) {
            out.accept(found + "; left alone, since its records are lost if it is aborted but was committed");
            return false;
        }
        if (verdict instanceof MayRun && !one.isOlderThan(longest)) {
            out.accept(found + "; left alone, since a transaction can run for "
                    + DurationsAndSizes.duration(longest.toMillis()));
            return false;
        }
        if (!isConfirmed.test(found + ". " + question(verdict))) {
            out.accept(found + "; left alone");
            return false;
        }
        return isEndedAsConfirmed(one);
    }

    /** Looks again before it writes the marker, because a transaction may have ended or begun since the question. */
    private boolean isEndedAsConfirmed(TransactionChecks.Judged one) {
        try {
            if (inspector.open(List.of(one.open().partition()), new TreeSet<>()).stream()
                    .noneMatch(one.open()::isSame)) {
                out.accept(one.open() + ": it has ended meanwhile");
                return true;
            }
            TransactionVerdict now = inspector.judge(one.open());
            if (!now.equals(one.verdict())) {
                out.accept(one.open() + ": left alone, since it has changed meanwhile: "
                        + TransactionInspector.describe(now));
                return false;
            }
            if (isProved(now)) {
                out.accept(one.open() + ": " + inspector.repair(one.open(), now));
            } else {
                inspector.abort(one.open());
                out.accept(one.open() + ": aborted");
            }
            return true;
        } catch (InvalidProducerEpochException e) {
            out.accept(one.open() + ": it has ended meanwhile");
            return true;
        } catch (AuthorizationException e) {
            out.accept(
                    one.open() + ": the marker was not written, which needs ALTER on the cluster: " + e.getMessage());
            return false;
        } catch (KafkaException e) {
            out.accept(one.open() + ": the marker was not written: " + e.getMessage());
            return false;
        }
    }

    private static boolean isProved(TransactionVerdict verdict) {
        return verdict instanceof MarkerMissing || verdict instanceof NeverJoined;
    }

    private static String question(TransactionVerdict verdict) {
        if (verdict instanceof MayRun) {
            return "Abort it? Its records are lost if it was committed, and if it still runs, its producer fails";
        }
        if (verdict instanceof Undecided) {
            return "Abort it? Its records are lost if it was committed";
        }
        return verdict instanceof MarkerMissing missing && missing.isCommitted()
                ? "Commit it there?"
                : "Abort it there?";
    }
}
