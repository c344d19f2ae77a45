package dev.weir.failure;

import dev.weir.dev.BrokerCluster;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Something that goes wrong, or is done, while the load goes on.
 *
 * @param target which enforcer or broker, from 0
 * @param afterMs how long the load goes on undisturbed before it
 * @param lastsMs what the kind says; 0 if nothing
 */
record InjectedFault(Kind kind, int target, long afterMs, long lastsMs) {

    enum Kind {
        /** kill -9 of an enforcer, which stays away until another one has taken over. */
        TAKEOVER(1, false),
        /** kill -9 of an enforcer, started again at once on its state. */
        RESTART(1, false),
        /** As TAKEOVER, at the moment when it commits. */
        KILL_IN_COMMIT(1, false),
        /** As RESTART, and killed again after a while, most likely while it restores. */
        KILL_TWICE(2, false),
        /** kill -9 of all enforcers at once, started again at once. */
        KILL_ALL(3, false),
        /** kill -9 of an enforcer, whose state directory is deleted before it starts again. */
        LOSE_STATE(1, false),
        /** An enforcer stands still for longer than its session, then goes on, not knowing. */
        PAUSE(0, false),
        /** Each enforcer in turn is stopped and started again. */
        ROLL(0, false),
        /** kill -9 of a broker, started again after a while. */
        KILL_BROKER(1, true),
        /** A broker stands still for a while. */
        PAUSE_BROKER(0, true),
        /** kill -9 of a broker and of an enforcer at once. */
        KILL_BOTH(2, true),
        /** All requests are of one client for a while. */
        HOT_CLIENT(0, false);

        private final int kills;
        private final boolean broker;

        Kind(int kills, boolean broker) {
            this.kills = kills;
            this.broker = broker;
        }
    }

    private static final int MAX_AFTER_MS = 4_000;

    /** How many processes it kills. */
    int kills() {
        return kind.kills;
    }

    /** Kinds in a random order, again and again, until so many processes are killed. */
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

    /** These kinds, in this order. */
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
                    case KILL_BROKER, KILL_BOTH -> random.nextInt(10_000);
                    case KILL_TWICE -> 1_500 + random.nextInt(4_000);
                    case KILL_IN_COMMIT -> random.nextInt(10);
                    case HOT_CLIENT -> 3_000 + random.nextInt(5_000);
                    default -> 0;
                };
        return new InjectedFault(kind, target, afterMs, lastsMs);
    }

    @Override
    public String toString() {
        String who = kind == Kind.KILL_ALL || kind == Kind.ROLL || kind == Kind.HOT_CLIENT
                ? ""
                : (kind.broker ? " broker-" : " enforcer-") + (target + 1);
        return kind + who + (lastsMs == 0 ? "" : " for " + lastsMs + " ms");
    }
}
