package dev.weir.doctor;

import dev.weir.config.WeirConfig;
import dev.weir.transaction.TransactionInspector;
import dev.weir.transaction.TransactionVerdict;
import dev.weir.transaction.TransactionVerdict.MarkerMissing;
import dev.weir.transaction.TransactionVerdict.Running;
import dev.weir.transaction.TransactionVerdict.Undecided;
import java.net.http.HttpClient;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.kafka.common.KafkaException;

/** Ends the hanging transactions that {@code weir doctor} reports, after a check of the coordinator's state. */
public final class HangingTransactionFix {

    /** The command that runs the fix. */
    static final String COMMAND = "weir doctor --fix hanging-transactions";

    /**
     * The number of transactions of each result.
     *
     * @param ended those that were committed or aborted
     * @param left those that still hang
     */
    public record Result(int ended, int left) {}

    private HangingTransactionFix() {}

    /**
     * Ends the hanging transactions, each after a confirmation. Running transactions are left alone.
     *
     * @param isConfirmed asks an operator; its argument is a question that says what will be done
     * @param isCertainOnly whether transactions are left alone, without a question, if it is not known how they ended
     * @param out receives one line for each transaction
     */
    public static Result run(
            WeirConfig config, Predicate<String> isConfirmed, boolean isCertainOnly, Consumer<String> out) {
        int ended = 0;
        int left = 0;
        try (ClusterView cluster = new ClusterView(config, List.of(), false, HttpClient.newHttpClient())) {
            TransactionInspector inspector = new TransactionInspector(cluster.admin(), cluster.config());
            Set<String> refused = new TreeSet<>();
            for (TransactionChecks.Judged one : TransactionChecks.find(cluster, refused)) {
                if (one.verdict() instanceof Running) {
                    continue;
                }
                if (isEnded(one, inspector, isConfirmed, isCertainOnly, out)) {
                    ended++;
                } else {
                    left++;
                }
            }
            if (!refused.isEmpty()) {
                out.accept("not checked, because this user lacks READ: " + String.join(", ", refused));
            }
        }
        return new Result(ended, left);
    }

    private static boolean isEnded(
            TransactionChecks.Judged one,
            TransactionInspector inspector,
            Predicate<String> isConfirmed,
            boolean isCertainOnly,
            Consumer<String> out) {
        TransactionVerdict verdict = one.verdict();
        String found = one.open() + ": " + TransactionInspector.describe(verdict);
        if (verdict instanceof Undecided && isCertainOnly) {
            out.accept(found + "; left alone, since its records are lost if it is aborted but was committed");
            return false;
        }
        if (!isConfirmed.test(found + ". " + question(verdict))) {
            out.accept(found + "; left alone");
            return false;
        }
        try {
            if (verdict instanceof Undecided) {
                inspector.abort(one.open());
                out.accept(one.open() + ": aborted");
            } else {
                out.accept(one.open() + ": " + inspector.repair(one.open(), verdict));
            }
            return true;
        } catch (KafkaException e) {
            out.accept(one.open() + ": the broker rejected the marker, which needs ALTER on the cluster: "
                    + e.getMessage());
            return false;
        }
    }

    private static String question(TransactionVerdict verdict) {
        if (verdict instanceof Undecided) {
            return "Abort it? Its records are lost if it was committed";
        }
        return verdict instanceof MarkerMissing missing && missing.isCommitted()
                ? "Commit it there?"
                : "Abort it there?";
    }
}
