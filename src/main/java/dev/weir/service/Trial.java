package dev.weir.service;

import dev.weir.codec.FaultsException;
import dev.weir.codec.PolicyFile;
import io.javalin.http.Context;
import java.util.function.Supplier;

/** What a policy file would change if it were applied, or would have done. */
final class Trial {

    private static final String MINUTES = "minutes";
    private static final int DEFAULT_MINUTES = 10;
    private static final int MAX_MINUTES = 60;

    private final Supplier<Rulebook> rules;

    Trial(Supplier<Rulebook> rules) {
        this.rules = rules;
    }

    void validate(Context request) throws FaultsException {
        Format format = Format.accepted(request);
        boolean prune = Parameters.of(request, "prune").flag("prune");
        PolicyFile.Contents contents = contents(request);
        Answers.write(request, format, 200, Views.changes(rules.get().tryOut(contents, prune)));
    }

    void backtest(Context request) throws FaultsException {
        Format format = Format.accepted(request);
        int minutes =
                Parameters.of(request, MINUTES).number(MINUTES, 1, MAX_MINUTES).orElse(DEFAULT_MINUTES);
        PolicyFile.Contents contents = contents(request);
        Answers.write(
                request,
                format,
                200,
                Views.whatIf(rules.get().whatIf(contents, minutes, () -> Callers.isThere(request))));
    }

    private PolicyFile.Contents contents(Context request) throws FaultsException {
        Format.sent(request);
        return PolicyFile.read("body", Body.text(request), rules.get()::queuesToTryOut);
    }
}
