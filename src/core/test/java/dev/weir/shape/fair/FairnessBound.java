package dev.weir.shape.fair;

import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Checks the fairness bound of start-time fair queueing, in integers (P. Goyal, H. Vin, H. Cheng, 1996, theorem 1).
 * Members are the flows of a tier, and the tiers of a priority. Let W be the cost of a member's requests that left in an
 * interval, w its weight, and c the largest cost of its requests. Then |W_f / w_f − W_m / w_m| ≤ c_f / w_f + c_m / w_m
 * holds for every interval in which requests of both members f and m wait.
 */
public final class FairnessBound {

    private static final class Member {
        final long weight;
        final Set<Member> peers; // those of its group that wait
        final Map<Member, Long> least = new HashMap<>(); // by how much it was ahead, since both wait, at least
        final String name;
        long waiting;
        long served;
        long largest;

        Member(String name, long weight, Set<Member> peers) {
            this.name = name;
            this.weight = weight;
            this.peers = peers;
        }

        long ahead(Member other) {
            return served * other.weight - other.served * weight;
        }

        void enter(long cost) {
            largest = Math.max(largest, cost);
            if (waiting++ == 0) {
                for (Member peer : peers) {
                    least.put(peer, ahead(peer));
                    peer.least.put(this, peer.ahead(this));
                }
                peers.add(this);
            }
        }

        void leave() {
            if (--waiting == 0) {
                peers.remove(this);
            }
        }
    }

    private final Map<String, TierShare> shares;
    private final Map<Object, Set<Member>> groups = new HashMap<>();
    private final Map<Object, Member> members = new HashMap<>();
    private final List<String> violations = new ArrayList<>();
    private double worst;

    /** @param shares the shares by tier, which must not change */
    public FairnessBound(Map<String, TierShare> shares) {
        this.shares = shares;
    }

    public List<String> violations() {
        return violations;
    }

    /** Returns the largest part of a bound that was reached, 1 if a bound was reached exactly. */
    public double worst() {
        return worst;
    }

    private List<Member> members(Flow flow) {
        TierShare share = shares.getOrDefault(flow.tier(), TierShare.DEFAULT);
        Set<Member> tiers = groups.computeIfAbsent(share.priority(), priority -> new HashSet<>());
        Set<Member> flows = groups.computeIfAbsent(flow.tier(), tier -> new HashSet<>());
        return List.of(
                members.computeIfAbsent(flow.tier(), tier -> new Member(flow.tier(), share.weight(), tiers)),
                members.computeIfAbsent(flow, f -> new Member(flow.toString(), 1, flows)));
    }

    /** A request arrives. */
    public void enter(Flow flow, long cost) {
        members(flow).forEach(member -> member.enter(cost));
    }

    /** A request leaves at its turn. */
    public void serve(Flow flow, long cost) {
        for (Member member : members(flow)) {
            member.served += cost;
            for (Member peer : member.peers) {
                if (peer != member) {
                    check(member, peer);
                    peer.least.merge(member, peer.ahead(member), Math::min);
                }
            }
            member.leave();
        }
    }

    /** A request leaves for another reason. */
    public void leave(Flow flow) {
        members(flow).forEach(Member::leave);
    }

    private void check(Member member, Member peer) {
        long lead = member.ahead(peer) - member.least.get(peer);
        long bound = member.largest * peer.weight + peer.largest * member.weight;
        worst = Math.max(worst, (double) lead / bound);
        if (lead > bound) {
            violations.add(member.name + " is ahead of " + peer.name + " by " + lead + ", which is more than " + bound);
        }
    }
}
