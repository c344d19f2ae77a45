package dev.weir.storage.codec;

import dev.weir.lease.FreedSlots;
import dev.weir.lease.SlotRenewal;
import dev.weir.lease.holder.Corrections;
import dev.weir.lease.holder.SlotRenewals;
import java.util.ArrayList;
import java.util.List;

/**
 * Encodes what a lease book has to report of slots, as {@link LeaseCodec} describes. Which message was sent last is not
 * encoded: after a restart, its answer does not arrive, and renewals are sent again.
 */
final class SlotsCodec {

    private static final int AWAITED = 1;
    private static final int FREED = 2; // of a renewal
    private static final int RENEWED = 2; // of an answer

    private SlotsCodec() {}

    static void write(Corrections corrections, StateBytes out) {
        out.write(corrections.freed().size());
        for (FreedSlots freed : corrections.freed()) {
            out.writeSigned(freed.usedAtMs());
            out.writeSigned(freed.endMs());
            out.write(freed.count());
        }
        SlotRenewals renewals = corrections.renewals();
        out.write(renewals.pending().size());
        for (SlotRenewals.Pending pending : renewals.pending()) {
            SlotRenewal renewal = pending.renewal();
            out.writeByte((pending.isAwaited() ? AWAITED : 0) | (pending.isFreed() ? FREED : 0));
            out.write(renewal.reservation());
            out.writeSigned(renewal.usedAtMs());
            out.writeSigned(renewal.endMs());
            out.write(renewal.slotMs());
            out.write(renewal.count());
        }
        out.write(renewals.answers().size());
        for (SlotRenewals.Answer answer : renewals.answers()) {
            out.writeByte((answer.isAwaited() ? AWAITED : 0) | (answer.isRenewed() ? RENEWED : 0));
            out.write(answer.reservation());
            out.writeSigned(answer.endMs());
        }
    }

    static List<FreedSlots> readFreed(StateBytes in) {
        List<FreedSlots> freed = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            freed.add(new FreedSlots(in.readSigned(), in.readSigned(), in.read()));
        }
        return freed;
    }

    static SlotRenewals readRenewals(StateBytes in) {
        List<SlotRenewals.Pending> pending = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            int flags = in.readByte();
            SlotRenewal renewal = new SlotRenewal(in.read(), in.readSigned(), in.readSigned(), in.read(), in.read());
            boolean isFreed = (flags & FREED) != 0;
            pending.add(new SlotRenewals.Pending(renewal, (flags & AWAITED) != 0, isFreed, isFreed));
        }
        List<SlotRenewals.Answer> answers = new ArrayList<>();
        for (long left = in.read(); left > 0; left--) {
            int flags = in.readByte();
            answers.add(new SlotRenewals.Answer(
                    in.read(), in.readSigned(), (flags & RENEWED) != 0, (flags & AWAITED) != 0));
        }
        return SlotRenewals.stored(pending, answers);
    }
}
