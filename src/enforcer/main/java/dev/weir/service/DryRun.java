package dev.weir.service;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import io.javalin.http.Context;
import java.util.function.Supplier;

/** What a policy file would change if it were applied, or would have done. */
final class DryRun {

    private static final String MINUTES = "minutes";
    private static final int DEFAULT_MINUTES = 10;
    private static final int MAX_MINUTES = 60;

    private final Supplier<RuleService> rules;

    DryRun(Supplier<RuleService> rules) {
        this.rules = rules;
    }

    void validate(Context request) throws FaultsException {
        BodyFormat format = BodyFormat.accepted(request);
        boolean prune = QueryParameters.of(request, "prune").flag("prune");
        PolicyFile.Contents contents = contents(request);
        ResponseWriter.write(request, format, 200, JsonViews.changes(rules.get().tryOut(contents, prune)));
    }

    void backtest(Context request) throws FaultsException {
        BodyFormat format = BodyFormat.accepted(request);
        int minutes = QueryParameters.of(request, MINUTES)
                .number(MINUTES, 1, MAX_MINUTES)
                .orElse(DEFAULT_MINUTES);
        PolicyFile.Contents contents = contents(request);
        ResponseWriter.write(
                request,
                format,
                200,
                JsonViews.whatIf(rules.get().whatIf(contents, minutes, () -> CallerConnections.isThere(request))));
    }

    private PolicyFile.Contents contents(Context request) throws FaultsException {
        BodyFormat.sent(request);
        return PolicyFile.read("body", RequestBody.text(request), rules.get()::queuesToTryOut);
    }
}
