package dev.weir.shape;

import dev.weir.shape.command.QueueCommand.Action;
import dev.weir.shape.effect.AttemptEnd;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * What a queue whose workers acknowledge releases has to do, in terms of lists of jobs: which job may be released, which
 * slots are in use, and when attempts end. It shares only the rules with the queue.
 */
final class InFlightModel {

    enum State {
        WAITING,
        IN_FLIGHT,
        BACKOFF,
        ENDED
    }

    /** A request that was admitted. */
    static final class Job {
        final String id;
        final String client;
        final String tier; // the empty text for none
        final String key;
        final long cost;
        final long number;
        final long expiresAtMs; // before its first attempt
        final long deadlineMs; // of later ones
        State state = State.WAITING;
        int attempt;
        int failures;
        long slots; // of its current attempt
        long startedMs;
        long untilMs;
        boolean isClaimed;

        Job(String id, Flow flow, String key, long cost, long number, long expiresAtMs, long deadlineMs) {
            this.id = id;
            client = flow.value();
            tier = flow.tier();
            this.key = key;
            this.cost = cost;
            this.number = number;
            this.expiresAtMs = expiresAtMs;
            this.deadlineMs = deadlineMs;
        }

        Flow flow() {
            return new Flow(tier, client);
        }

        @Override
        public String toString() {
            return id + " " + state + ", cost " + cost + ", until " + latestStartMs();
        }

        boolean sharesFlowWith(Job other) {
            return key.equals(other.key) && flow().equals(other.flow());
        }

        boolean waits() {
            return state == State.WAITING || state == State.BACKOFF;
        }

        /** Returns the last time at which its next attempt may start. */
        long latestStartMs() {
            return state == State.WAITING ? expiresAtMs : deadlineMs;
        }

        /** Returns whether it has waited for its turn for too long. Nothing expires during a backoff. */
        boolean hasExpired(long nowMs) {
            return mayGo(nowMs) && latestStartMs() <= nowMs;
        }

        boolean mayGo(long nowMs) {
            return state == State.WAITING || state == State.BACKOFF && untilMs <= nowMs;
        }

        /** Returns whether the first attempt of this job starts before that of another one of its flow, or its retry. */
        boolean precedes(Job other) {
            return Comparator.comparing((Job job) -> job.state == State.WAITING)
                            .thenComparing(job -> job.number)
                            .compare(this, other)
                    < 0;
        }
    }

    private final Map<String, Job> jobs = new TreeMap<>();
    private final Map<String, Job> live = new TreeMap<>(); // those that have not ended
    private final Set<String> paused = new HashSet<>(); // keys, and the empty text for the whole queue
    private final Set<String> draining = new HashSet<>();
    private final Map<AttemptEnd, Integer> attemptEnds = new HashMap<>();
    private QueueRules rules;

    InFlightModel(QueueRules rules) {
        this.rules = rules;
    }

    QueueRules rules() {
        return rules;
    }

    void setRules(QueueRules newRules) {
        rules = newRules;
    }

    void add(Job job) {
        jobs.put(job.id, job);
        live.put(job.id, job);
    }

    Job job(String id) {
        return jobs.get(id);
    }

    Collection<Job> jobs() {
        return jobs.values();
    }

    List<Job> live() {
        return List.copyOf(live.values());
    }

    List<Job> live(String key, Predicate<Job> filter) {
        return live.values().stream()
                .filter(job -> job.key.equals(key) && filter.test(job))
                .toList();
    }

    List<Job> inFlight(String key, Predicate<Job> filter) {
        return live(key, job -> job.state == State.IN_FLIGHT && filter.test(job));
    }

    void end(Job job) {
        job.state = State.ENDED;
        live.remove(job.id);
    }

    /** Ends a job by its last attempt. */
    void complete(Job job, AttemptEnd how) {
        count(how);
        end(job);
    }

    private void count(AttemptEnd how) {
        attemptEnds.merge(how, 1, Integer::sum);
    }

    /** Returns how many attempts ended in each way. */
    Map<AttemptEnd, Integer> attemptEnds() {
        return attemptEnds;
    }

    boolean isPaused(String key) {
        return paused.contains("") || paused.contains(key);
    }

    boolean isDraining(String key) {
        return draining.contains("") || draining.contains(key);
    }

    /**
     * Puts a command in effect.
     *
     * @param key the empty text for the whole queue
     * @return the jobs that are purged
     */
    List<Job> obey(Action action, String key) {
        switch (action) {
            case PAUSE -> paused.add(key);
            case DRAIN -> draining.add(key);
            case RESUME -> {
                paused.remove(key);
                draining.remove(key);
            }
            case PURGE -> {
                List<Job> purged = live.values().stream()
                        .filter(job -> job.waits() && (key.isEmpty() || key.equals(job.key)))
                        .toList();
                purged.forEach(this::end);
                return purged;
            }
        }
        return List.of();
    }

    /** Returns what is paused or draining. */
    Set<String> withCommands() {
        Set<String> all = new HashSet<>(paused);
        all.addAll(draining);
        return all;
    }

    /** Returns how many jobs of a key wait, for their first attempt or another one. */
    long waiting(String key) {
        return live(key, Job::waits).size();
    }

    /** Returns the jobs of a key that a new one of this tier may have evicted: they have the lowest priority of all. */
    List<Job> evictable(String key, String tier) {
        List<Job> waiting = live(key, job -> job.state == State.WAITING);
        int lowest = waiting.stream().mapToInt(this::priority).min().orElse(Integer.MAX_VALUE);
        return lowest >= rules.share(tier).priority()
                ? List.of()
                : waiting.stream().filter(job -> priority(job) == lowest).toList();
    }

    int priority(Job job) {
        return rules.share(job.tier).priority();
    }

    /** Starts the next attempt of a job. Without slots, it is its end. */
    void start(Job job, long atMs) {
        InFlightRules slots = rules.inFlight();
        if (slots == null) {
            end(job);
            return;
        }
        job.slots = slots.slots(job.cost);
        job.attempt++;
        job.state = State.IN_FLIGHT;
        job.isClaimed = false;
        job.startedMs = atMs;
        job.untilMs = atMs + slots.ackTimeoutMs();
    }

    void extend(Job job, long nowMs) {
        job.isClaimed = true;
        InFlightRules slots = rules.inFlight();
        if (slots != null) {
            long latestMs = job.startedMs + slots.maxDurationMs();
            job.untilMs = Math.max(job.untilMs, Math.min(nowMs + slots.ackTimeoutMs(), latestMs));
        }
    }

    /**
     * Ends an attempt that failed.
     *
     * @param afterMs when the next one may start, null for the backoff
     * @param how it ended, unless it was the last one
     * @return whether the job is given up
     */
    boolean fail(Job job, long atMs, Long afterMs, AttemptEnd how) {
        job.failures++;
        if (rules.inFlight() != null && job.failures >= rules.inFlight().maxAttempts()) {
            complete(job, AttemptEnd.EXHAUSTED);
            return true;
        }
        count(how);
        job.state = State.BACKOFF;
        job.untilMs = atMs + (afterMs != null ? afterMs : backoffMs(job));
        return false;
    }

    /** Ends the attempts whose time is over, and returns the jobs that are given up. */
    List<Job> timeOut(long nowMs) {
        return live().stream()
                .filter(job -> job.state == State.IN_FLIGHT && job.untilMs <= nowMs)
                .filter(this::lose)
                .toList();
    }

    private boolean lose(Job job) {
        if (job.isClaimed) {
            return fail(job, job.untilMs, null, AttemptEnd.TIMED_OUT);
        }
        count(AttemptEnd.UNCLAIMED);
        job.state = State.BACKOFF;
        job.untilMs += backoffMs(job);
        return false;
    }

    private long backoffMs(Job job) {
        long backoffMs = rules.inFlight() == null || job.failures == 0
                ? 0
                : rules.inFlight().retryBackoffMs();
        for (int failure = 1; failure < job.failures; failure++) {
            backoffMs *= 2;
        }
        return backoffMs;
    }

    long slotsInUse(String key) {
        return inFlight(key, job -> true).stream().mapToLong(job -> job.slots).sum();
    }

    /** Returns the slots in use by tier, in all buckets. */
    Map<String, Long> slotsByTier() {
        return live.values().stream()
                .filter(job -> job.state == State.IN_FLIGHT)
                .collect(Collectors.groupingBy(job -> job.tier, Collectors.summingLong(job -> job.slots)));
    }

    /** Returns for how long the oldest job in flight has been so, in milliseconds; null if none is. */
    Long oldestInFlightMs(long nowMs) {
        return live.values().stream()
                .filter(job -> job.state == State.IN_FLIGHT)
                .map(job -> Math.max(0, nowMs - job.startedMs))
                .max(Comparator.naturalOrder())
                .orElse(null);
    }

    long count(State state) {
        return live.values().stream().filter(job -> job.state == state).count();
    }

    /** Returns how many slots of the tier of a job are free; negative if too many are in use. */
    long freeOfTier(Job job) {
        return free(ofTier(job), inFlight(job.key, other -> other.tier.equals(job.tier)));
    }

    /** Returns how many slots of the client of a job are free; negative if too many are in use. */
    long freeOfClient(Job job) {
        return free(ofClient(), inFlight(job.key, other -> other.client.equals(job.client)));
    }

    boolean hasTierSlots(Job job) {
        return freeOfTier(job) >= Math.min(wanted(job), ofTier(job).orElse(0));
    }

    boolean hasClientSlots(Job job) {
        return freeOfClient(job) >= Math.min(wanted(job), ofClient().orElse(0));
    }

    /** Returns how many slots a job will occupy. */
    long wanted(Job job) {
        return rules.inFlight() == null ? 0 : rules.inFlight().slots(job.cost);
    }

    private OptionalLong ofTier(Job job) {
        Long most = rules.inFlight() == null
                ? null
                : rules.inFlight().caps().ofTier().get(job.tier);
        return most == null ? OptionalLong.empty() : OptionalLong.of(most);
    }

    private OptionalLong ofClient() {
        return rules.inFlight() == null
                ? OptionalLong.empty()
                : rules.inFlight().caps().ofClient();
    }

    /** A job takes no more slots than there are. */
    private static long free(OptionalLong most, List<Job> inFlight) {
        return most.isEmpty()
                ? Long.MAX_VALUE
                : most.getAsLong()
                        - inFlight.stream()
                                .mapToLong(job -> Math.min(job.slots, most.getAsLong()))
                                .sum();
    }

    /** Returns the next job of each flow of a bucket. */
    List<Job> firstOfFlows(String key, long nowMs) {
        Map<Flow, Job> first = new HashMap<>();
        live(key, job -> job.mayGo(nowMs))
                .forEach(job -> first.merge(job.flow(), job, (one, other) -> one.precedes(other) ? one : other));
        return List.copyOf(first.values());
    }

    /** Returns those of the next jobs that could start now, whichever of the others is waited for, but for the pace. */
    List<Job> sureToGo(List<Job> first) {
        Map<Boolean, List<Job>> byTierSlots =
                first.stream().filter(this::hasClientSlots).collect(Collectors.partitioningBy(this::hasTierSlots));
        return byTierSlots.get(true).stream()
                .filter(job -> byTierSlots.get(false).stream().noneMatch(other -> other.tier.equals(job.tier)))
                .toList();
    }
}
