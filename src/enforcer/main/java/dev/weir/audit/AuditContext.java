package dev.weir.audit;

import dev.weir.audit.history.PolicyTimeline;
import dev.weir.config.WeirConfig;
import dev.weir.processor.RequestReader;
import dev.weir.wire.DecisionAvro;
import dev.weir.wire.ReleaseAvro;

/** What reads and decides. */
public record AuditContext(
        WeirConfig config,
        RequestReader requests,
        DecisionAvro decisions,
        ReleaseAvro releases,
        PolicyTimeline rules) {}
