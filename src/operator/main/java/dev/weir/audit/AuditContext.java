package dev.weir.audit;

import dev.weir.audit.history.PolicyTimeline;
import dev.weir.config.WeirConfig;
import dev.weir.requests.RequestReader;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.ReleaseCodec;

/** The configuration, the readers of records, and the definitions that an audit uses. */
public record AuditContext(
        WeirConfig config,
        RequestReader requests,
        DecisionCodec decisions,
        ReleaseCodec releases,
        PolicyTimeline rules) {}
