package dev.weir.audit;

import dev.weir.audit.history.PolicyTimeline;
import dev.weir.config.WeirConfig;
import dev.weir.processor.RequestReader;
import dev.weir.wire.DecisionAvro;
import dev.weir.wire.ReleaseAvro;

/** The configuration, the readers of records, and the definitions that an audit uses. */
public record AuditContext(
        WeirConfig config,
        RequestReader requests,
        DecisionAvro decisions,
        ReleaseAvro releases,
        PolicyTimeline rules) {}
