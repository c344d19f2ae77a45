package dev.weir.audit;

import dev.weir.codec.DecisionAvro;
import dev.weir.codec.ReleaseAvro;
import dev.weir.config.WeirConfig;
import dev.weir.processor.RequestReader;

/** What reads and decides. */
public record Tools(
        WeirConfig config, RequestReader requests, DecisionAvro decisions, ReleaseAvro releases, RuleChanges rules) {}
