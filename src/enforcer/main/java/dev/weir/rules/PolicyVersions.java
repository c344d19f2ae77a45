package dev.weir.rules;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.policy.Policy;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.List;

/**
 * The versions of a policy, and when each holds. A later version holds from its effective-from on, whatever was before.
 */
public final class PolicyVersions {

    /** How many earlier versions go along with the newest. */
    static final int MAX_BEFORE = 8;

    private static final PolicyAvro AVRO = new PolicyAvro();

    private PolicyVersions() {}

    /**
     * A version that holds for some record times.
     *
     * @param untilMs from when on a later version holds, ms since the epoch
     */
    record VersionInForce(PolicyAvro.Earlier version, Policy policy, long untilMs) {}

    /** The versions that hold at some time, newest first; those that cannot be read never do. */
    static List<VersionInForce> of(PolicyAvro.Applied applied) {
        List<PolicyAvro.Earlier> all = new ArrayList<>();
        all.add(new PolicyAvro.Earlier(applied.version(), applied.definition(), applied.appliedAtMs()));
        all.addAll(applied.before());
        List<VersionInForce> holding = new ArrayList<>();
        long untilMs = Long.MAX_VALUE;
        for (PolicyAvro.Earlier version : all) {
            try {
                Policy policy = PolicyFile.parse(applied.key(), version.definition(), version.version());
                if (policy.effectiveFromMs() < untilMs) {
                    holding.add(new VersionInForce(version, policy, untilMs));
                    untilMs = policy.effectiveFromMs();
                }
            } catch (FaultsException e) {
                // never in force
            }
        }
        return holding;
    }

    /**
     * The next version, with the earlier ones that hold until its effective-from. Past ones are for partitions that
     * lag; they go if they do not fit, the oldest first.
     *
     * @param old what it takes over from, null if there is nothing
     * @throws RefusedChangeException if one that is in force or to come does not fit
     */
    public static PolicyAvro.Applied next(PolicyAvro.Applied next, PolicyAvro.Applied old, long nowMs) {
        if (old == null || old.isDeleted()) {
            return next;
        }
        List<PolicyAvro.Earlier> before = new ArrayList<>();
        before.add(new PolicyAvro.Earlier(old.version(), old.definition(), old.appliedAtMs()));
        before.addAll(old.before());
        List<VersionInForce> holding = new ArrayList<>(of(next.withBefore(before)));
        holding.remove(0);
        PolicyAvro.Applied record = next.withBefore(versions(holding));
        while (holding.size() > MAX_BEFORE || AVRO.encode(record).length > PolicyAvro.MAX_BYTES) {
            VersionInForce oldest = holding.remove(holding.size() - 1);
            if (oldest.untilMs() > nowMs) {
                throw new RefusedChangeException("nothing was changed: policy " + next.id() + " has more versions in"
                        + " force or to come than fit: " + MAX_BEFORE + " before the newest, " + PolicyAvro.MAX_BYTES
                        + " bytes together");
            }
            record = next.withBefore(versions(holding));
        }
        return record;
    }

    /** The definition that holds at a record time; that of the newest version if none does yet. */
    static String inForceAt(PolicyAvro.Applied applied, long timestampMs) {
        for (VersionInForce holding : of(applied)) {
            if (holding.policy().effectiveFromMs() <= timestampMs && timestampMs < holding.untilMs()) {
                return holding.version().definition();
            }
        }
        return applied.definition();
    }

    /** The versions that hold at a record time or later, each alone, oldest first. */
    static List<PolicyAvro.Applied> inForceFrom(PolicyAvro.Applied applied, long timestampMs) {
        List<PolicyAvro.Applied> held = new ArrayList<>();
        for (VersionInForce holding : of(applied)) {
            if (timestampMs < holding.untilMs()) {
                PolicyAvro.Earlier version = holding.version();
                held.add(
                        0,
                        new PolicyAvro.Applied(
                                applied.kind(),
                                applied.id(),
                                version.version(),
                                version.definition(),
                                version.appliedAtMs()));
            }
        }
        return held;
    }

    private static List<PolicyAvro.Earlier> versions(List<VersionInForce> holding) {
        return holding.stream().map(VersionInForce::version).toList();
    }
}
