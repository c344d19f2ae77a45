package dev.weir.failure.check;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The invariant of workers: each attempt starts at most once, whatever is killed, and only after its release. */
public final class StartInvariant {

    public static final String NAME = "14 attempts-start-once";

    private StartInvariant() {}

    /** @param started the attempts that workers have started, each as requestId and number */
    public static Breach check(Evidence evidence, List<String> started) {
        Breach.Notes notes = new Breach.Notes(NAME, "attempts", "started");
        Set<String> released = new HashSet<>();
        evidence.releases().committed().stream()
                .map(Evidence.Entry::release)
                .filter(release -> release.attempt() != null)
                .forEach(release -> released.add(
                        release.requestId() + " " + release.attempt().number()));
        notes.count("attempts", released.size());
        notes.count("started", started.size());
        Set<String> seen = new HashSet<>();
        for (String attempt : started) {
            if (!seen.add(attempt)) {
                notes.fault(attempt + " was started twice");
            } else if (!released.contains(attempt)) {
                notes.fault(attempt + " was started, but not released");
            }
        }
        return notes.done();
    }
}
