package dev.weir.takeover;

import dev.weir.kafka.UnreachableException;
import dev.weir.takeover.PeerGroups.Evidence;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notices that another instance has died or hangs, while its groups would wait for its session to end.
 *
 * <pre>
 *              answers                    a connection breaks, and the port refuses another one
 *    asks ───────────────▶ linked ──────────────────────────────────────────────▶ suspected: REFUSED
 *                          │    ▲                                                       │
 *   no answer for DOUBT    ▼    │ answers                                               │ commits nothing for SETTLE
 *                   suspected: SILENT                                                   ▼
 *                          └──────────────────────────────────────────────────▶ removed from its groups
 *                            commits nothing for suspectAfter, but should
 * </pre>
 *
 * <p>To each of the others there is a request that is answered when something has changed, and after {@link #ANSWERED}.
 * If a process dies, its operating system closes its connections and its port. If it hangs, or only the path to it is
 * broken, requests are not answered. What it commits tells these apart: an instance that commits is alive.
 *
 * <p>Of the instances that are linked, the one with the lowest id acts at once. Each further one waits {@link #TURN}
 * longer, and finds nothing left to do unless those before it have failed. An instance whose own timer was late suspects
 * nobody of silence: it may have been the one that did not run.
 *
 * <p>All state belongs to one thread. Others wait for brokers and hosts.
 */
public final class PeerWatch implements AutoCloseable {

    /** After this time an instance answers also if nothing has changed. */
    public static final Duration ANSWERED = Duration.ofMillis(500);

    /** The timeout of a request. After it, another connection is tried. */
    public static final Duration ASKED = Duration.ofMillis(1_500);

    /** How long an instance has not answered when it is suspected. */
    static final Duration DOUBT = Duration.ofMillis(750);

    /** In this time, what a process that has died had sent reaches the brokers. */
    static final Duration SETTLE = Duration.ofMillis(150);

    /** The time after which the next instance acts. */
    static final Duration TURN = Duration.ofSeconds(2);

    private static final Duration TICK = Duration.ofMillis(100);
    private static final Duration LATE = Duration.ofMillis(500);
    private static final Duration LOOK = Duration.ofSeconds(1);
    private static final Duration RETRY = Duration.ofMillis(250);
    private static final Duration CONNECT = Duration.ofMillis(500);

    /** How often a removal is tried, since the brokers may be failing over too. */
    private static final int MOST_REMOVALS = 60;

    private static final Logger LOG = LoggerFactory.getLogger(PeerWatch.class);

    private final TakeoverSource source;
    private final PeerLink link;
    private final Predicate<String> isRefused;
    private final LongSupplier nanos;
    private final Map<String, Peer> peers = new HashMap<>();
    private final ScheduledExecutorService thread;
    private final ExecutorService workers;
    private long tickNanos;
    private long lookNanos;

    private static final class Peer {
        private final String address;
        private Optional<Announcement> announced = Optional.empty();
        private Optional<Suspicion> suspicion = Optional.empty();
        private String known = "";
        private boolean isFollowed;
        private long heardNanos;

        Peer(String address) {
            this.address = address;
        }

        boolean isLinked() {
            return announced.isPresent() && suspicion.isEmpty();
        }
    }

    private static final class Suspicion {
        private final Announcement of;
        private final Evidence evidence;
        private final long sinceNanos;
        private Optional<PeerActivity> before = Optional.empty();
        private boolean isBusy; // a worker is waiting for the brokers
        private long nextNanos;
        private int removals;

        Suspicion(Announcement of, Evidence evidence, long sinceNanos) {
            this.of = of;
            this.evidence = evidence;
            this.sinceNanos = sinceNanos;
            nextNanos = sinceNanos;
        }
    }

    public PeerWatch(TakeoverSource source, PeerLink link) {
        this(
                source,
                link,
                PeerWatch::isRefused,
                System::nanoTime,
                Executors.newSingleThreadScheduledExecutor(task -> thread(task, "takeover")),
                Executors.newCachedThreadPool(task -> thread(task, "takeover-worker")));
    }

    /**
     * @param isRefused returns whether the host of an address refuses connections
     * @param thread the thread that has the state
     * @param workers what waits for brokers and hosts
     */
    PeerWatch(
            TakeoverSource source,
            PeerLink link,
            Predicate<String> isRefused,
            LongSupplier nanos,
            ScheduledExecutorService thread,
            ExecutorService workers) {
        this.source = source;
        this.link = link;
        this.isRefused = isRefused;
        this.nanos = nanos;
        this.thread = thread;
        this.workers = workers;
        tickNanos = nanos.getAsLong();
        lookNanos = tickNanos - LOOK.toNanos();
    }

    private static Thread thread(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /** Starts to follow the others. */
    public void start() {
        var unused = thread.scheduleWithFixedDelay(() -> step(this::tick), 0, TICK.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void tick() {
        long now = nanos.getAsLong();
        if (now - lookNanos >= LOOK.toNanos()) {
            lookNanos = now;
            look();
        }
        for (Peer peer : List.copyOf(peers.values())) {
            if (peer.isLinked() && now - peer.heardNanos >= DOUBT.toNanos()) {
                suspect(peer, Evidence.SILENT);
            }
            peer.suspicion.ifPresent(suspicion -> pursue(peer, suspicion, now));
        }
    }

    private void look() {
        Set<String> others = source.others().get();
        peers.values().removeIf(peer -> peer.suspicion.isEmpty() && !others.contains(peer.address));
        others.forEach(address -> peers.computeIfAbsent(address, Peer::new));
        peers.values().stream()
                .filter(peer -> !peer.isFollowed && others.contains(peer.address))
                .forEach(this::follow);
    }

    private void follow(Peer peer) {
        peer.isFollowed = true;
        var unused = link.ask(peer.address, peer.known)
                .whenComplete((json, failure) -> run(() -> {
                    if (failure == null) {
                        heard(peer, json);
                    } else {
                        lost(peer);
                    }
                }));
    }

    private void heard(Peer peer, String json) {
        try {
            Announcement one = Announcement.read(json);
            if (peer.suspicion.filter(suspicion -> !isRefuted(suspicion, one)).isEmpty()) {
                peer.suspicion = Optional.empty();
                boolean isFirst = peer.announced.isEmpty();
                peer.announced = Optional.of(one).filter(all -> !all.members().isEmpty());
                if (isFirst && peer.isLinked()) {
                    work(() -> prepare(one));
                }
            }
            peer.known = json;
            peer.heardNanos = nanos.getAsLong();
            follow(peer);
        } catch (IllegalArgumentException e) { // another version, or not an instance
            peer.announced = Optional.empty();
            again(peer);
        }
    }

    /** Connects to the brokers now, since that takes time. */
    private void prepare(Announcement one) {
        try {
            var unused = source.groups().activity(one);
        } catch (UnreachableException e) {
            LOG.debug("The groups of {} cannot be described: {}", one.instance(), e.getMessage());
        }
    }

    /** A process that was started after one has died answers too, but has other members, or none yet. */
    private static boolean isRefuted(Suspicion suspicion, Announcement heard) {
        return suspicion.evidence == Evidence.SILENT
                || heard.members().stream().anyMatch(suspicion.of.members()::contains);
    }

    private void lost(Peer peer) {
        peer.known = "";
        if (peer.announced.isEmpty()
                || peer.suspicion
                        .filter(one -> one.evidence == Evidence.REFUSED)
                        .isPresent()) {
            again(peer);
            return;
        }
        work(() -> {
            boolean refused = isRefused.test(peer.address);
            run(() -> {
                if (refused) {
                    suspect(peer, Evidence.REFUSED);
                }
                again(peer);
            });
        });
    }

    private void suspect(Peer peer, Evidence evidence) {
        peer.announced.ifPresent(last -> {
            Suspicion suspicion = new Suspicion(last, evidence, nanos.getAsLong());
            peer.suspicion = Optional.of(suspicion);
            pursue(peer, suspicion, suspicion.sinceNanos);
        });
    }

    private void pursue(Peer peer, Suspicion suspicion, long now) {
        long turn = TURN.multipliedBy(before(suspicion.of)).toNanos();
        if (suspicion.isBusy || now < suspicion.nextNanos || now - suspicion.sinceNanos < turn) {
            return;
        }
        suspicion.isBusy = true;
        work(() -> {
            Supplier<Runnable> outcome = suspicion.removals > 0 ? remove(peer, suspicion) : activity(peer, suspicion);
            Runnable next;
            try {
                next = outcome.get();
            } catch (UnreachableException e) {
                next = () -> failed(peer, suspicion, e);
            }
            run(next);
        });
    }

    private Supplier<Runnable> activity(Peer peer, Suspicion suspicion) {
        return () -> {
            Optional<PeerActivity> seen = source.groups().activity(suspicion.of);
            return () -> seen(peer, suspicion, seen);
        };
    }

    private Supplier<Runnable> remove(Peer peer, Suspicion suspicion) {
        return () -> {
            source.groups().remove(suspicion.of, suspicion.evidence);
            return () -> end(peer, suspicion);
        };
    }

    private void seen(Peer peer, Suspicion suspicion, Optional<PeerActivity> seen) {
        suspicion.isBusy = false;
        if (!isCurrent(peer, suspicion)) {
            return;
        }
        if (seen.isEmpty()) {
            end(peer, suspicion);
            return;
        }
        long now = nanos.getAsLong();
        if (suspicion
                .before
                .filter(before -> isDead(suspicion.evidence, before, seen.get()))
                .isPresent()) {
            suspicion.removals = 1;
            pursue(peer, suspicion, now);
        } else {
            suspicion.before = seen;
            Duration wait = suspicion.evidence == Evidence.REFUSED ? SETTLE : source.suspectAfter();
            suspicion.nextNanos = now + wait.toNanos();
        }
    }

    private static boolean isDead(Evidence evidence, PeerActivity before, PeerActivity now) {
        return now.isSilentSince(before) && (evidence == Evidence.REFUSED || now.isDueSince(before));
    }

    private static boolean isCurrent(Peer peer, Suspicion suspicion) {
        return peer.suspicion.filter(one -> one == suspicion).isPresent();
    }

    private void end(Peer peer, Suspicion suspicion) {
        if (isCurrent(peer, suspicion)) {
            peer.suspicion = Optional.empty();
            peer.announced = Optional.empty();
        }
    }

    private void failed(Peer peer, Suspicion suspicion, UnreachableException failure) {
        suspicion.isBusy = false;
        suspicion.nextNanos = nanos.getAsLong() + RETRY.toNanos();
        if (suspicion.removals == 0) {
            suspicion.before = Optional.empty(); // without the brokers, no commits are seen either
            return;
        }
        suspicion.removals++;
        if (suspicion.removals > MOST_REMOVALS) {
            LOG.warn(
                    "Instance {} {}, but its members cannot be removed, so that its partitions wait for its session"
                            + " to end: {}",
                    suspicion.of.instance(),
                    suspicion.evidence,
                    failure.getMessage());
            end(peer, suspicion);
        }
    }

    private int before(Announcement dead) {
        List<String> linked = peers.values().stream()
                .filter(Peer::isLinked)
                .flatMap(peer -> peer.announced.stream())
                .map(Announcement::instance)
                .toList();
        return before(source.instance(), linked, dead.instance());
    }

    /** Returns how many of the linked instances act before this one. */
    static int before(String own, Collection<String> linked, String dead) {
        return (int) linked.stream()
                .filter(id -> id.compareTo(own) < 0 && !id.equals(dead))
                .distinct()
                .count();
    }

    private void again(Peer peer) {
        after(peer.announced.isPresent() ? RETRY : LOOK, () -> {
            if (source.others().get().contains(peer.address)) {
                follow(peer);
            } else {
                peer.isFollowed = false;
            }
        });
    }

    private void run(Runnable step) {
        after(Duration.ZERO, step);
    }

    private void after(Duration delay, Runnable next) {
        if (!thread.isShutdown()) {
            thread.schedule(() -> step(next), delay.toMillis(), TimeUnit.MILLISECONDS);
        }
    }

    /** All steps of the thread pass through here. */
    private void step(Runnable next) {
        try {
            long now = nanos.getAsLong();
            if (now - tickNanos >= LATE.toNanos()) {
                forgive(now);
            }
            tickNanos = now;
            next.run();
        } catch (RuntimeException e) { // an exception would end the schedule
            LOG.warn("Other instances cannot be followed: {}", e.toString());
        }
    }

    /** This instance did not run for a while, so that it cannot tell how long others have been silent. */
    private void forgive(long now) {
        for (Peer peer : peers.values()) {
            peer.heardNanos = now;
            peer.suspicion = peer.suspicion.filter(suspicion -> suspicion.evidence != Evidence.SILENT);
        }
    }

    private void work(Runnable task) {
        if (!workers.isShutdown()) {
            workers.execute(task);
        }
    }

    /** Returns whether the host of an address answers that nobody listens on the port. */
    static boolean isRefused(String address) {
        int colon = address.lastIndexOf(':');
        String host = address.substring(0, colon).replaceAll("[\\[\\]]", "");
        try (Socket socket = new Socket()) {
            socket.connect(
                    new InetSocketAddress(host, Integer.parseInt(address.substring(colon + 1))),
                    Math.toIntExact(CONNECT.toMillis()));
            return false;
        } catch (ConnectException e) {
            return true;
        } catch (IOException | IllegalArgumentException e) { // no answer, no route, or no such host
            return false;
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
        workers.shutdownNow();
    }
}
