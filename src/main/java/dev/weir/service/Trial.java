package dev.weir.service;

import dev.weir.codec.FaultsException;
import dev.weir.codec.PolicyFile;
import io.javalin.http.Context;
import java.util.function.Supplier;

/** What a policy file would change if it were applied. */
final class Trial {

    private final Supplier<Rulebook> rules;

    Trial(Supplier<Rulebook> rules) {
        this.rules = rules;
    }

    void validate(Context request) throws FaultsException {
        Format format = Format.accepted(request);
        Format.sent(request);
        boolean prune = Parameters.of(request, "prune").flag("prune");
        PolicyFile.Contents contents = PolicyFile.read("body", Body.text(request), rules.get()::queuesToTryOut);
        Answers.write(request, format, 200, Views.changes(rules.get().tryOut(contents, prune)));
    }
}
