package dev.weir.shape;

import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Max-min fairness as a fluid (generalised processor sharing), by its definition: all service goes to the highest
 * priority with a backlog, by weight over its tiers with a backlog, and evenly over their clients with a backlog. When
 * a flow is finished, the others share its part. Nothing arrives during service.
 */
final class MaxMinOracle {

    private final Map<String, TierShare> shares;
    private final Map<Flow, Double> backlogs;
    private final Map<Flow, Double> served = new LinkedHashMap<>();

    /** @param backlogs the backlogs at the start, in tokens */
    MaxMinOracle(Map<String, TierShare> shares, Map<Flow, Double> backlogs) {
        this.shares = shares;
        this.backlogs = new LinkedHashMap<>(backlogs);
        backlogs.keySet().forEach(flow -> served.put(flow, 0.0));
    }

    Set<Flow> flows() {
        return served.keySet();
    }

    /** Returns what a flow has got since the start, in tokens. */
    double served(Flow flow) {
        return served.get(flow);
    }

    /** Serves tokens, in steps that end whenever a flow is finished. */
    void serve(double tokens) {
        double left = tokens;
        while (left > 0 && !backlogs.isEmpty()) {
            Map<Flow, Double> rates = rates();
            double untilOneEnds = Double.MAX_VALUE;
            for (Map.Entry<Flow, Double> rate : rates.entrySet()) {
                untilOneEnds = Math.min(untilOneEnds, backlogs.get(rate.getKey()) / rate.getValue());
            }
            double step = Math.min(left, untilOneEnds);
            boolean oneEnds = step == untilOneEnds;
            for (Map.Entry<Flow, Double> rate : rates.entrySet()) {
                double backlog = backlogs.get(rate.getKey());
                boolean ends = oneEnds && backlog / rate.getValue() <= untilOneEnds;
                double got = ends ? backlog : step * rate.getValue();
                served.merge(rate.getKey(), got, Double::sum);
                if (ends) {
                    backlogs.remove(rate.getKey());
                } else {
                    backlogs.put(rate.getKey(), backlog - got);
                }
            }
            left -= step;
        }
    }

    /** Returns the current share of each flow; the shares add up to one. */
    private Map<Flow, Double> rates() {
        int highest = backlogs.keySet().stream()
                .mapToInt(flow -> shares.get(flow.tier()).priority())
                .max()
                .orElseThrow();
        Map<String, List<Flow>> clients = backlogs.keySet().stream()
                .filter(flow -> shares.get(flow.tier()).priority() == highest)
                .collect(Collectors.groupingBy(Flow::tier));
        double weights = clients.keySet().stream()
                .mapToDouble(tier -> shares.get(tier).weight())
                .sum();
        Map<Flow, Double> rates = new LinkedHashMap<>();
        clients.forEach((tier, flows) ->
                flows.forEach(flow -> rates.put(flow, shares.get(tier).weight() / weights / flows.size())));
        return rates;
    }
}
