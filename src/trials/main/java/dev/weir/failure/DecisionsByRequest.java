package dev.weir.failure;

import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.failure.Evidence.Entry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The committed decisions by the request that each is of. */
final class DecisionsByRequest {

    private final Map<Request.Source, List<Entry>> answers = new HashMap<>();
    private final Map<Request.Source, List<Entry>> ends = new HashMap<>();

    DecisionsByRequest(List<Entry> decisions) {
        for (Entry entry : decisions) {
            Decision decision = entry.decision();
            (decision.endsWait() ? ends : answers)
                    .computeIfAbsent(decision.source(), source -> new ArrayList<>(1))
                    .add(entry);
        }
    }

    /** What a request was told when it came. */
    List<Entry> to(Request.Source source) {
        return answers.getOrDefault(source, List.of());
    }

    /** How it was told that its wait was over, without a release. */
    List<Entry> endsOf(Request.Source source) {
        return ends.getOrDefault(source, List.of());
    }

    Set<Request.Source> answered() {
        return answers.keySet();
    }

    Set<Request.Source> ended() {
        return ends.keySet();
    }
}
