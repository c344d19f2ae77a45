package dev.weir.api;

import dev.weir.definition.PolicyFile;
import dev.weir.fault.FaultsException;
import dev.weir.server.http.BodyFormat;
import dev.weir.server.http.CallerConnections;
import dev.weir.server.http.QueryParameters;
import dev.weir.server.http.RequestBody;
import dev.weir.server.http.ResponseWriter;
import io.javalin.http.Context;
import java.util.function.Supplier;

/**
 * The endpoints that try a policy file without applying it: they return what it would change, or how it would have
 * decided recent requests.
 */
final class DryRun {

    private static final String MINUTES = "minutes";
    private static final int DEFAULT_MINUTES = 10;
    private static final int MAX_MINUTES = 60;

    private final Supplier<RuleService> rules;

    DryRun(Supplier<RuleService> rules) {
        this.rules = rules;
    }

    void validate(Context request) throws FaultsException {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        boolean prune = QueryParameters.of(request, "prune").flag("prune");
        PolicyFile.Contents contents = contents(request);
        ResponseWriter.write(request, format, 200, JsonViews.changes(rules.get().dryRun(contents, prune)));
    }

    void backtest(Context request) throws FaultsException {
        BodyFormat format = BodyFormat.ofAcceptHeader(request);
        int minutes = QueryParameters.of(request, MINUTES)
                .number(MINUTES, 1, MAX_MINUTES)
                .orElse(DEFAULT_MINUTES);
        PolicyFile.Contents contents = contents(request);
        ResponseWriter.write(
                request,
                format,
                200,
                JsonViews.backtest(
                        rules.get().backtest(contents, minutes, () -> CallerConnections.isConnected(request))));
    }

    private PolicyFile.Contents contents(Context request) throws FaultsException {
        BodyFormat.ofContentType(request);
        return PolicyFile.read("body", RequestBody.text(request), rules.get()::queuesForDryRun);
    }
}
