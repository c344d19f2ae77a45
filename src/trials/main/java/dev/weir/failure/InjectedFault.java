package dev.weir.failure;

import dev.weir.testing.BrokerCluster;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * A fault or an operation under load.
 *
 * @param target the number of the enforcer or broker, from 0
 * @param afterMs the time without faults before it
 * @param lastsMs the duration that the kind describes, 0 if it has none
 */
record InjectedFault(Kind kind, int target, long afterMs, long lastsMs) {

    enum Kind {
        /** kill -9 of an enforcer, which is restarted after others have taken over. */
        TAKEOVER(1, false),
        /** kill -9 of an enforcer, which is restarted at once with its state. */
        RESTART(1, false),
        /** As TAKEOVER, during a commit. */
        KILL_IN_COMMIT(1, false),
        /** As RESTART, but killed again after a while, most likely during its restore. */
        KILL_TWICE(2, false),
        /** kill -9 of all enforcers at once, which are restarted at once. */
        KILL_ALL(3, false),
        /** kill -9 of an enforcer, whose state directory is deleted before its restart. */
        LOSE_STATE(1, false),
        /** An enforcer is paused for longer than its session timeout, then resumed. */
        PAUSE(0, false),
        /** An enforcer is paused until others have taken over, then resumed. */
        HANG(0, false),
        /** The enforcers are stopped and restarted one after the other. */
        ROLL(0, false),
        /** kill -9 of a worker, which is restarted after a while. */
        KILL_WORKER(1, false),
        /** kill -9 of a broker, which is restarted after a while. */
        KILL_BROKER(1, true),
        /** A broker is paused for a while. */
        PAUSE_BROKER(0, true),
        /** kill -9 of a broker and of an enforcer at once. */
        KILL_BOTH(2, true),
        /** The load is higher for a while, and one client sends half of the calls. */
        HOT_CLIENT(0, false);

        private final int kills;
        private final boolean broker;

        Kind(int kills, boolean broker) {
            this.kills = kills;
            this.broker = broker;
        }
    }

    private static final int MAX_AFTER_MS = 4_000;

    /** Returns the number of processes that it kills. */
    int kills() {
        return kind.kills;
    }

    /** Returns all kinds in a random order, repeatedly, until {@code kills} processes are killed. */
    static List<InjectedFault> schedule(long seed, int kills, int enforcers) {
        Random random = new Random(seed);
        List<InjectedFault> schedule = new ArrayList<>();
        int killed = 0;
        while (killed < kills) {
            List<Kind> deck = new ArrayList<>(List.of(Kind.values()));
            deck.add(Kind.TAKEOVER);
            deck.add(Kind.RESTART);
            deck.add(Kind.KILL_IN_COMMIT);
            Collections.shuffle(deck, random);
            for (Kind kind : deck) {
                if (killed < kills) {
                    InjectedFault fault = draw(kind, enforcers, random);
                    schedule.add(fault);
                    killed += fault.kills();
                }
            }
        }
        return schedule;
    }

    /** Returns faults of these kinds, in this order. */
    static List<InjectedFault> sequence(long seed, List<Kind> kinds, int enforcers) {
        Random random = new Random(seed);
        return kinds.stream().map(kind -> draw(kind, enforcers, random)).toList();
    }

    private static InjectedFault draw(Kind kind, int enforcers, Random random) {
        int target = random.nextInt(kind.broker ? BrokerCluster.FAULT_TOLERANT_SIZE : enforcers);
        long afterMs = random.nextInt(MAX_AFTER_MS);
        long lastsMs =
                switch (kind) {
                    case PAUSE -> 8_000 + random.nextInt(8_000);
                    case PAUSE_BROKER -> 1_000 + random.nextInt(11_000);
                    case KILL_BROKER, KILL_BOTH, KILL_WORKER -> random.nextInt(10_000);
                    case KILL_TWICE -> 1_500 + random.nextInt(4_000);
                    case KILL_IN_COMMIT -> random.nextInt(10);
                    case HOT_CLIENT -> 3_000 + random.nextInt(5_000);
                    default -> 0;
                };
        return new InjectedFault(kind, target, afterMs, lastsMs);
    }

    @Override
    public String toString() {
        String who =
                switch (kind) {
                    case KILL_ALL, ROLL, HOT_CLIENT, KILL_WORKER -> "";
                    default -> (kind.broker ? " broker-" : " enforcer-") + (target + 1);
                };
        return kind + who + (lastsMs == 0 ? "" : " for " + lastsMs + " ms");
    }
}
