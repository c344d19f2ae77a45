package dev.weir.decision;

import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.keyed;

import dev.weir.limit.AlignedWindow;
import dev.weir.limit.Charge;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.SettlementOracle;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The law of settlement for requests under several policies: all that each key of each policy was ever charged, with each
 * charge at its original time and its cost as corrected so far. Rates are replayed by {@link SettlementOracle}, slots are
 * a plain list. It shares no code with the decider. All policies apply to all requests, and none counts denied requests.
 */
final class CorrectedHistory {

    /** The policy of a layer. Its key is the client, or the client and the model. */
    record Rule(String id, boolean isByModel, List<Limit<?>> limits) {

        Policy policy() {
            List<String> key = isByModel ? List.of("client", "model") : List.of("client");
            return inLayer(id, keyed(key, Samples.policy(id, limits.toArray(Limit<?>[]::new))));
        }

        boolean hasSlots() {
            return limits.stream().anyMatch(Concurrency.class::isInstance);
        }

        List<String> key(String client, String model) {
            return isByModel ? List.of(id, client, model) : List.of(id, client);
        }
    }

    /** A reservation. */
    static final class Held {
        final String client;
        final Charge charge;
        final long durationMs;
        final Set<List<String>> keys = new HashSet<>();
        long endMs;
        String ending = "";

        Held(String client, Charge charge, long durationMs) {
            this.client = client;
            this.charge = charge;
            this.durationMs = durationMs;
            this.endMs = charge.atMs() + durationMs;
        }

        private boolean usesSlots(long atMs) {
            return ending.isEmpty() && endMs > atMs;
        }
    }

    /** What one limit counts of a key. */
    private static final class Account {
        final Set<Held> charged = new HashSet<>(); // reservations whose charges are corrected here
        Limit<?> limit;
        SettlementOracle tokens; // null for slots

        Account(Limit<?> limit, long nowMs) {
            this.limit = limit;
            this.tokens = limit instanceof Concurrency ? null : new SettlementOracle(limit, nowMs);
        }

        long available(long nowMs) {
            return tokens != null
                    ? tokens.available(nowMs)
                    : limit.capacity()
                            - charged.stream()
                                    .filter(one -> one.usesSlots(nowMs))
                                    .mapToLong(one -> one.charge.cost())
                                    .sum();
        }

        private long debt(long nowMs) {
            return Math.max(0, -available(nowMs));
        }

        /** Changes the terms. Those of another algorithm count what was in use as used now, and correct no charge. */
        void change(Limit<?> next, long nowMs) {
            boolean isSame = next.getClass() == limit.getClass();
            if (tokens == null || next instanceof Concurrency) {
                limit = next;
                if (!isSame) {
                    charged.clear();
                    tokens = next instanceof Concurrency ? null : new SettlementOracle(next, nowMs);
                }
                return;
            }
            long mostUsed = next.capacity() + Math.min(next.capacity(), debt(nowMs));
            if (isSame) {
                tokens.change(next, mostUsed, nowMs);
            } else {
                boolean isCapped = !(next instanceof SlidingWindowLog || next instanceof AlignedWindow);
                long used = tokens.used(nowMs);
                charged.clear();
                tokens = new SettlementOracle(next, nowMs);
                tokens.charge(isCapped ? Math.min(used, mostUsed) : used, nowMs);
            }
            limit = next;
        }
    }

    /** The accounts of one key of a policy. */
    private static final class KeyHistory {
        final List<Account> accounts = new ArrayList<>();
        final Set<Held> unended = new HashSet<>();

        KeyHistory(Rule rule, long nowMs) {
            rule.limits.forEach(limit -> accounts.add(new Account(limit, nowMs)));
        }
    }

    private final Map<List<String>, KeyHistory> keys = new HashMap<>();
    private List<Rule> rules;
    private long lastNumber;

    CorrectedHistory(List<Rule> rules) {
        this.rules = rules;
    }

    List<Rule> rules() {
        return rules;
    }

    private List<KeyHistory> applicable(String client, String model, long nowMs) {
        List<KeyHistory> all = new ArrayList<>();
        for (Rule rule : rules) {
            KeyHistory stored = keys.get(rule.key(client, model));
            all.add(stored == null ? new KeyHistory(rule, nowMs) : stored);
        }
        return all;
    }

    boolean permits(String client, String model, long cost, long nowMs) {
        return cost == 0
                || applicable(client, model, nowMs).stream()
                        .flatMap(key -> key.accounts.stream())
                        .allMatch(account -> cost <= account.available(nowMs));
    }

    /** Returns what is available of each limit, in the order of the rules. */
    List<Long> available(String client, String model, long nowMs) {
        return applicable(client, model, nowMs).stream()
                .flatMap(key -> key.accounts.stream())
                .map(account -> account.available(nowMs))
                .toList();
    }

    /** Returns the most reservations of a key of a request that nobody has ended. */
    int mostUnended(String client, String model) {
        return applicable(client, model, 0).stream()
                .mapToInt(key -> key.unended.size())
                .max()
                .orElse(0);
    }

    private KeyHistory stored(Rule rule, String client, String model, long nowMs) {
        return keys.computeIfAbsent(rule.key(client, model), key -> new KeyHistory(rule, nowMs));
    }

    /** Charges a request that passed. Returns its reservation, null if it has none. */
    Held consume(String client, String model, long cost, Long reserveMs, long nowMs) {
        boolean reserves = reserveMs != null || rules.stream().anyMatch(Rule::hasSlots);
        long durationMs = reserveMs == null ? Long.MAX_VALUE : reserveMs;
        for (Rule rule : rules) {
            for (Limit<?> limit : rule.limits) {
                durationMs = limit instanceof Concurrency slots ? Math.min(durationMs, slots.ttlMs()) : durationMs;
            }
        }
        Charge charge = new Charge(++lastNumber, nowMs, cost);
        Held held = reserves ? new Held(client, charge, durationMs) : null;
        for (Rule rule : rules) {
            if (!reserves && cost == 0 && !keys.containsKey(rule.key(client, model))) {
                continue; // nothing changes
            }
            KeyHistory key = stored(rule, client, model, nowMs);
            for (Account account : key.accounts) {
                if (!reserves) {
                    account.tokens.charge(cost, nowMs);
                } else {
                    account.charged.add(held);
                    if (account.tokens != null) {
                        account.tokens.chargeReserved(charge);
                    }
                }
            }
            if (reserves) {
                key.unended.add(held);
                held.keys.add(rule.key(client, model));
            }
        }
        return held;
    }

    /** Charges a correction of the total, of 0 or more tokens. */
    void correct(String client, String model, long cost, long nowMs) {
        for (Rule rule : rules) {
            if (cost > 0) {
                for (Account account : stored(rule, client, model, nowMs).accounts) {
                    if (account.tokens != null) {
                        long most = 2 * account.limit.capacity() - account.tokens.used(nowMs);
                        account.tokens.charge(Math.min(cost, Math.max(0, most)), nowMs);
                    }
                }
            }
        }
    }

    /** Ends a reservation. An empty cost keeps the estimate. */
    void end(Held held, Long actualCost, String ending, long nowMs) {
        held.ending = ending;
        for (List<String> name : held.keys) {
            KeyHistory key = keys.get(name);
            if (key == null || !key.unended.remove(held) || actualCost == null) {
                continue;
            }
            for (Account account : key.accounts) {
                if (account.tokens != null && account.charged.contains(held)) {
                    account.tokens.settle(held.charge, actualCost, 2 * account.limit.capacity(), nowMs);
                }
            }
        }
    }

    void renew(Held held, long nowMs) {
        held.endMs = nowMs + held.durationMs;
    }

    /** Forgets the usage of a request's keys, of one policy or, if that is null, of all. */
    void reset(String client, String model, String policyId, long nowMs) {
        for (Rule rule : rules) {
            if (policyId == null || policyId.equals(rule.id)) {
                keys.computeIfPresent(rule.key(client, model), (name, key) -> new KeyHistory(rule, nowMs));
            }
        }
    }

    /** Changes the limits of a rule, one for one, or its key. */
    void change(Rule next, long nowMs) {
        List<Rule> changed = new ArrayList<>();
        for (Rule rule : rules) {
            changed.add(rule.id.equals(next.id) ? next : rule);
        }
        rules = changed;
        keys.forEach((name, key) -> {
            if (name.get(0).equals(next.id) && name.size() == (next.isByModel ? 3 : 2)) {
                for (int i = 0; i < key.accounts.size(); i++) {
                    if (!key.accounts.get(i).limit.equals(next.limits.get(i))) {
                        key.accounts.get(i).change(next.limits.get(i), nowMs);
                    }
                }
            }
        });
    }
}
