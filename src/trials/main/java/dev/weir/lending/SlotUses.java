package dev.weir.lending;

import dev.weir.limit.PeakOfUses;
import java.util.ArrayList;
import java.util.List;

/** The slots of a limit of concurrency that were in use in truth, in ledger time. */
final class SlotUses {

    private final List<SlotInterval> all = new ArrayList<>();

    /** Slots that one request used. */
    static final class SlotInterval {
        private final long count;
        private final long fromMs;
        private long untilMs;

        private SlotInterval(long count, long fromMs, long untilMs) {
            this.count = count;
            this.fromMs = fromMs;
            this.untilMs = untilMs;
        }

        /** Frees the slots, unless they have ended. */
        void freeAt(long atMs) {
            untilMs = Math.min(untilMs, Math.max(fromMs, atMs));
        }
    }

    SlotInterval add(long count, long fromMs, long untilMs) {
        SlotInterval use = new SlotInterval(count, fromMs, untilMs);
        all.add(use);
        return use;
    }

    /** Returns the most slots in use at once. */
    long most() {
        PeakOfUses peak = new PeakOfUses();
        all.forEach(use -> peak.add(use.count, use.fromMs, use.untilMs));
        return peak.most();
    }
}
