package dev.weir.shape;

import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.timer.TimerQueue;
import dev.weir.shape.total.LedgerState;
import dev.weir.shape.total.TotalGrant;
import dev.weir.shape.total.TotalLedger;
import dev.weir.shape.total.TotalReport;
import dev.weir.time.DueTime;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The ledgers of those totals of queues whose ledger is on this partition, from the first report to the last grant. */
final class TotalLedgers {

    private final Shaper.RulesSource rules;
    private final EffectLog effects;
    private final Map<String, TotalLedger> ledgers = new TreeMap<>();
    private final TimerQueue<String> timers = new TimerQueue<>();

    TotalLedgers(Shaper.RulesSource rules, EffectLog effects) {
        this.rules = rules;
        this.effects = effects;
    }

    void restore(String queue, LedgerState state) {
        TotalLedger ledger = new TotalLedger(queue, state);
        ledgers.put(queue, ledger);
        timers.set(queue, ledger.dueNanos());
    }

    /** Returns when the latest of the restored states was written, in nanoseconds; 0 if there are none. */
    long lastWriteNanos() {
        return ledgers.values().stream()
                .mapToLong(ledger -> ledger.state().granted().clockNanos())
                .max()
                .orElse(0);
    }

    void receive(TotalReport report, long nowNanos) {
        TotalLedger ledger = ledgers.computeIfAbsent(
                report.place().queue(), queue -> new TotalLedger(queue, LedgerState.fresh(nowNanos)));
        ledger.report(report, rules.of(report.place().queue()), nowNanos);
        storeIfChanged(report.place().queue(), ledger);
        timers.set(report.place().queue(), Math.max(nowNanos, ledger.dueNanos()));
    }

    /** Grants the time that is due. */
    void grantDue(long nowNanos) {
        while (timers.firstNanos() <= nowNanos) {
            grant(timers.first(), nowNanos);
        }
    }

    private void grant(String queue, long nowNanos) {
        TotalLedger ledger = ledgers.get(queue);
        QueueRules current = rules.of(queue);
        if (current != null && current.total() != null) {
            ledger.setRules(current, nowNanos);
        }
        for (TotalGrant grant : ledger.grant(nowNanos)) {
            effects.add(new QueueEffect.Sent(new QueueMessage.Granted(grant)));
        }
        settle(queue, ledger, nowNanos);
    }

    /** Puts changed bounds of what is in flight in force. Other changes take effect with the next report or grant. */
    void refresh(long nowNanos) {
        ledgers.forEach((queue, ledger) -> {
            QueueRules current = rules.of(queue);
            if (current != null && current.total() != null) {
                ledger.setMostInFlight(current.total().inFlight());
            }
            timers.set(queue, Math.max(nowNanos, ledger.dueNanos()));
        });
    }

    /** Sets the time of all ledgers back. */
    void stepBack(long nowNanos) {
        for (String queue : List.copyOf(ledgers.keySet())) {
            TotalLedger ledger = ledgers.get(queue);
            ledger.stepBack(nowNanos);
            settle(queue, ledger, nowNanos);
        }
    }

    private void settle(String queue, TotalLedger ledger, long nowNanos) {
        if (ledger.isIdle(nowNanos)) {
            ledgers.remove(queue);
            timers.cancel(queue);
            effects.add(new QueueEffect.LedgerStored(queue, null));
            return;
        }
        storeIfChanged(queue, ledger);
        timers.set(queue, Math.max(nowNanos, ledger.dueNanos()));
    }

    private void storeIfChanged(String queue, TotalLedger ledger) {
        if (ledger.testAndClearChanged()) {
            effects.add(new QueueEffect.LedgerStored(queue, ledger.state()));
        }
    }

    /** Returns when time is due to be granted; {@link DueTime#NEVER} if there are no ledgers. */
    long dueNanos() {
        return timers.firstNanos();
    }
}
