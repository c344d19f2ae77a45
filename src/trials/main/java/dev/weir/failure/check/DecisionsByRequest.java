package dev.weir.failure.check;

import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.failure.check.Evidence.Entry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The committed decisions, by request. */
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

    /** Returns the decisions on a request, except those that end its wait in a queue. */
    List<Entry> to(Request.Source source) {
        return answers.getOrDefault(source, List.of());
    }

    /** Returns the decisions that end the wait of a request in a queue without a release. */
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
