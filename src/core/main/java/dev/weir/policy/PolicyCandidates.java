package dev.weir.policy;

import dev.weir.event.Request;
import java.util.Arrays;
import java.util.function.Consumer;

/** Policies that are tested together, by layer. Immutable. */
final class PolicyCandidates {

    static final PolicyCandidates NONE = new PolicyCandidates(new String[0], new PolicyCandidate[0][]);

    private final String[] layers; // in alphabetical order
    private final PolicyCandidate[][] bestFirst; // of each layer, at least one

    private PolicyCandidates(String[] layers, PolicyCandidate[][] bestFirst) {
        this.layers = layers;
        this.bestFirst = bestFirst;
    }

    boolean isEmpty() {
        return layers.length == 0;
    }

    PolicyCandidates with(PolicyCandidate added) {
        String layer = added.policy().layer();
        int at = Arrays.binarySearch(layers, layer);
        if (at < 0) {
            return new PolicyCandidates(
                    inserted(layers, ~at, layer), inserted(bestFirst, ~at, new PolicyCandidate[] {added}));
        }
        int index = Arrays.binarySearch(bestFirst[at], added, PolicyCandidate.BEST_FIRST);
        return replaced(at, inserted(bestFirst[at], ~index, added));
    }

    /** @param removed one of the candidates */
    PolicyCandidates without(PolicyCandidate removed) {
        int at = Arrays.binarySearch(layers, removed.policy().layer());
        if (bestFirst[at].length == 1) {
            return layers.length == 1 ? NONE : new PolicyCandidates(without(layers, at), without(bestFirst, at));
        }
        int index = Arrays.binarySearch(bestFirst[at], removed, PolicyCandidate.BEST_FIRST);
        return replaced(at, without(bestFirst[at], index));
    }

    private PolicyCandidates replaced(int at, PolicyCandidate[] ofLayer) {
        PolicyCandidate[][] next = bestFirst.clone();
        next[at] = ofLayer;
        return new PolicyCandidates(layers, next);
    }

    private static <T> T[] inserted(T[] all, int at, T added) {
        T[] next = Arrays.copyOf(all, all.length + 1);
        System.arraycopy(all, at, next, at + 1, all.length - at);
        next[at] = added;
        return next;
    }

    private static <T> T[] without(T[] all, int at) {
        T[] next = Arrays.copyOf(all, all.length - 1);
        System.arraycopy(all, at + 1, next, at, next.length - at);
        return next;
    }

    /** Replaces worse policies that were found with better ones that apply. */
    void improve(PolicyTable.Search found, Request request, long atMs) {
        for (int i = 0; i < layers.length; i++) {
            int at = found.index(layers[i]);
            PolicyCandidate best = at < 0 ? null : found.candidate(at);
            for (PolicyCandidate candidate : bestFirst[i]) {
                if (best != null && PolicyCandidate.BEST_FIRST.compare(best, candidate) <= 0) {
                    break;
                }
                if (candidate.applies(request, atMs)) {
                    found.put(at, candidate);
                    break;
                }
            }
        }
    }

    /** Passes each candidate to a callback. */
    void forEach(Consumer<PolicyCandidate> action) {
        for (PolicyCandidate[] ofLayer : bestFirst) {
            for (PolicyCandidate candidate : ofLayer) {
                action.accept(candidate);
            }
        }
    }
}
