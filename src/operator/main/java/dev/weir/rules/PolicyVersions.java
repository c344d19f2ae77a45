package dev.weir.rules;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.policy.Policy;
import dev.weir.wire.PolicyAvro;
import java.util.ArrayList;
import java.util.List;

/**
 * The versions of a policy and the times at which each is in force. A later version is in force from its effective-from
 * on, until its effective-until if it has one, and then replaces all earlier ones, also after its end.
 */
public final class PolicyVersions {

    /** The maximum number of earlier versions in the record of the newest one. */
    static final int MAX_BEFORE = 8;

    private static final PolicyAvro AVRO = new PolicyAvro();

    private PolicyVersions() {}

    /**
     * A version that is in force for some record times.
     *
     * @param untilMs when it ends or a later version takes effect, ms since the epoch
     */
    record VersionInForce(PolicyAvro.Earlier version, Policy policy, long untilMs) {}

    /**
     * Returns the versions that are in force at some time, newest first. Versions that cannot be read are never
     * in force.
     */
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
                    holding.add(new VersionInForce(version, policy, Math.min(untilMs, policy.effectiveUntilMs())));
                    untilMs = policy.effectiveFromMs();
                }
            } catch (FaultsException e) {
                // never in force
            }
        }
        return holding;
    }

    /**
     * Returns the record of the next version, with the earlier versions that are in force until its effective-from.
     * Versions that are no longer in force are kept for partitions that lag, and are dropped if they do not fit,
     * oldest first.
     *
     * @param old the record that is replaced; null if there is none
     * @throws RefusedChangeException if a version that is in force, or takes effect later, does not fit
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
                throw new RefusedChangeException("nothing was changed: policy " + next.id() + " has too many versions"
                        + " that are in force or take effect later: at most " + MAX_BEFORE + " besides the newest, "
                        + PolicyAvro.MAX_BYTES + " bytes in all");
            }
            record = next.withBefore(versions(holding));
        }
        return record;
    }

    /** Returns the definition in force at a record time; that of the newest version if none is in force yet. */
    static String inForceAt(PolicyAvro.Applied applied, long timestampMs) {
        for (VersionInForce holding : of(applied)) {
            if (holding.policy().effectiveFromMs() <= timestampMs && timestampMs < holding.untilMs()) {
                return holding.version().definition();
            }
        }
        return applied.definition();
    }

    /**
     * Returns the versions in force at or after a record time, each in a record of its own, oldest first. The record has
     * the author of its newest version only.
     */
    public static List<PolicyAvro.Applied> inForceFrom(PolicyAvro.Applied applied, long timestampMs) {
        List<PolicyAvro.Applied> inForce = new ArrayList<>();
        for (VersionInForce holding : of(applied)) {
            if (timestampMs < holding.untilMs()) {
                PolicyAvro.Earlier version = holding.version();
                PolicyAvro.Applied one = new PolicyAvro.Applied(
                        applied.kind(), applied.id(), version.version(), version.definition(), version.appliedAtMs());
                boolean isNewest = version.version() == applied.version();
                inForce.add(0, isNewest ? one.withChangedBy(applied.changedBy()) : one);
            }
        }
        return inForce;
    }

    private static List<PolicyAvro.Earlier> versions(List<VersionInForce> holding) {
        return holding.stream().map(VersionInForce::version).toList();
    }
}
