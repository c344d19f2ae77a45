package dev.weir.lease.holder;

import dev.weir.lease.FreedSlots;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.SlotRenewal;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The renewals of slots that a holder has requested of the ledger, and the ledger's answers. An immutable value.
 *
 * <pre>
 *                    next message        response
 *   with ──▶ unsent ─────────────▶ sent ─────────▶ answered ──▶ without: the reservation has its new end
 *               │                   │
 *               ╰─ freed: dropped   ╰─ freed: the new end is freed when the answer arrives
 * </pre>
 *
 * <p>One message is unanswered at a time. If its answer is lost, its renewals are sent again. This is safe, since the
 * ledger only prolongs slots which it finds at their end.
 *
 * @param pending the renewals without an answer, oldest first
 * @param sentNumber the number of the message that is unanswered, 0 if none is
 * @param sentMs when it was sent, by the holder's clock
 * @param answers the answers that no reservation has got yet, oldest first; at most {@value #MAX_ANSWERS}
 */
public record SlotRenewals(List<Pending> pending, long sentNumber, long sentMs, List<Answer> answers) {

    /** Of more answers that no reservation asks for any more, the oldest are dropped: their slots end by themselves. */
    static final int MAX_ANSWERS = 1_000;

    /** There are no renewals. */
    public static final SlotRenewals NONE = new SlotRenewals(List.of(), 0, Lease.LONG_AGO_MS, List.of());

    /**
     * A renewal without an answer.
     *
     * @param renewal the renewal
     * @param isAwaited whether a request waits for the answer
     * @param isSent whether it is in the unanswered message
     * @param isFreed whether the slots were freed since it was sent
     */
    public record Pending(SlotRenewal renewal, boolean isAwaited, boolean isSent, boolean isFreed) {}

    /**
     * An answer.
     *
     * @param reservation the number of the reservation
     * @param endMs when the slots end, in ledger time; before the renewal if they have ended
     * @param isRenewed whether they have not
     * @param isAwaited whether a request waits for the answer
     */
    public record Answer(long reservation, long endMs, boolean isRenewed, boolean isAwaited) {}

    public SlotRenewals {
        pending = List.copyOf(pending);
        answers = List.copyOf(answers);
    }

    /** Returns renewals and answers as they are stored. */
    public static SlotRenewals stored(List<Pending> pending, List<Answer> answers) {
        return pending.isEmpty() && answers.isEmpty() ? NONE : new SlotRenewals(pending, 0, Lease.LONG_AGO_MS, answers);
    }

    boolean isNone() {
        return pending.isEmpty() && answers.isEmpty();
    }

    /** Returns whether a reservation's slots are to be renewed, and the ledger has not answered. */
    public boolean isPending(long reservation) {
        return find(reservation).isPresent();
    }

    private Optional<Pending> find(long reservation) {
        return pending.stream()
                .filter(each -> each.renewal.reservation() == reservation && !each.isFreed)
                .findFirst();
    }

    /** Returns the ledger's answer for a reservation. */
    public Optional<Answer> answer(long reservation) {
        return answers.stream().filter(each -> each.reservation == reservation).findFirst();
    }

    /** Returns this with one more renewal, which must not be {@linkplain #isPending pending}. */
    SlotRenewals with(SlotRenewal renewal, boolean isAwaited) {
        List<Pending> next = new ArrayList<>(pending);
        next.add(new Pending(renewal, isAwaited, false, false));
        return new SlotRenewals(next, sentNumber, sentMs, answers);
    }

    /** Returns this without the answer for a reservation. */
    SlotRenewals withoutAnswer(long reservation) {
        return new SlotRenewals(
                pending,
                sentNumber,
                sentMs,
                answers.stream().filter(each -> each.reservation != reservation).toList());
    }

    /** Returns this after the request that waited for a reservation's renewal was decided without it. */
    SlotRenewals abandoned(long reservation) {
        return withPending(pending.stream()
                .map(each -> each.renewal.reservation() == reservation
                        ? new Pending(each.renewal, false, each.isSent, each.isFreed)
                        : each)
                .toList());
    }

    /** Returns whether the renewal of a reservation was sent, so that its new end is not known. */
    boolean isSent(long reservation) {
        return find(reservation).filter(Pending::isSent).isPresent();
    }

    /** Returns this after the slots of a reservation were freed. A renewal that was not sent is dropped. */
    SlotRenewals freed(long reservation) {
        List<Pending> next = new ArrayList<>();
        for (Pending each : pending) {
            boolean isOf = each.renewal.reservation() == reservation;
            if (!isOf || each.isSent) {
                next.add(isOf ? new Pending(each.renewal, false, true, true) : each);
            }
        }
        return withPending(next).withoutAnswer(reservation);
    }

    private SlotRenewals withPending(List<Pending> next) {
        return new SlotRenewals(next, sentNumber, sentMs, answers);
    }

    /** Returns whether renewals must be sent now. */
    boolean isDue(long nowMs) {
        return !pending.isEmpty() && dueAtMs() <= nowMs;
    }

    /** Returns when renewals must be sent; {@link DueTime#NEVER} if there are none. */
    long dueAtMs() {
        return pending.isEmpty()
                ? DueTime.NEVER
                : sentNumber == 0 ? Lease.LONG_AGO_MS : sentMs + LeaseTerms.MIN_RESEND_MS;
    }

    /** Returns the renewals of the next message. */
    List<SlotRenewal> toSend() {
        return pending.stream()
                .limit(SlotRenewal.MAX_PER_MESSAGE)
                .map(Pending::renewal)
                .toList();
    }

    /** Returns this after the renewals {@linkplain #toSend to send} were sent. */
    SlotRenewals sent(long number, long nowMs) {
        List<Pending> next = new ArrayList<>();
        for (Pending each : pending) {
            next.add(
                    next.size() < SlotRenewal.MAX_PER_MESSAGE
                            ? new Pending(each.renewal, each.isAwaited, true, each.isFreed)
                            : each);
        }
        return new SlotRenewals(next, number, nowMs, answers);
    }

    /** Returns whether a response is that to the unanswered message. */
    boolean isExpected(LeaseResponse.Renewed response) {
        return sentNumber != 0 && sentNumber == response.number();
    }

    /** Returns the slots that were freed while an {@linkplain #isExpected expected} response was on its way. */
    List<FreedSlots> freedBefore(LeaseResponse.Renewed response) {
        return pending.stream()
                .filter(each -> each.isSent && each.isFreed)
                .map(Pending::renewal)
                .filter(renewal -> !response.ended().contains(renewal.reservation()))
                .map(renewal -> renewal.freed(renewal.endMs(response.renewedAtMs())))
                .toList();
    }

    /** Returns this after an {@linkplain #isExpected expected} response. */
    SlotRenewals answered(LeaseResponse.Renewed response) {
        List<Answer> next = new ArrayList<>();
        answers.stream()
                .filter(each -> each.isAwaited || each.endMs > response.renewedAtMs())
                .forEach(next::add);
        for (Pending each : pending) {
            SlotRenewal renewal = each.renewal;
            if (each.isSent && !each.isFreed) {
                boolean isRenewed = !response.ended().contains(renewal.reservation());
                long endMs = isRenewed ? renewal.endMs(response.renewedAtMs()) : renewal.endMs();
                next.add(new Answer(renewal.reservation(), endMs, isRenewed, each.isAwaited));
            }
        }
        return new SlotRenewals(
                pending.stream().filter(each -> !each.isSent).toList(),
                0,
                sentMs,
                next.subList(Math.max(0, next.size() - MAX_ANSWERS), next.size()));
    }

    /** Returns the slots that were freed while their renewal was unanswered, whose answer will not arrive. */
    List<FreedSlots> freedUnanswered() {
        return pending.stream()
                .filter(Pending::isFreed)
                .map(each -> each.renewal.freed(each.renewal.endMs()))
                .toList();
    }

    /** Returns this if the answer to what was sent will not arrive: it is sent again. */
    SlotRenewals unanswered() {
        return new SlotRenewals(
                pending.stream()
                        .filter(each -> !each.isFreed)
                        .map(each -> new Pending(each.renewal, each.isAwaited, false, false))
                        .toList(),
                0,
                Lease.LONG_AGO_MS,
                answers);
    }
}
