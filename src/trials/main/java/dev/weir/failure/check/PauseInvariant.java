package dev.weir.failure.check;

import dev.weir.event.Release;
import dev.weir.failure.check.Evidence.Entry;
import java.util.List;
import java.util.Map;

/** The invariant of pauses: from when a pause is in effect until it is to end, nothing of its key is released. */
public final class PauseInvariant {

    public static final String NAME = "13 paused-releases-nothing";

    /**
     * A pause of a key of a queue.
     *
     * @param from the end of each partition of the releases when the pause was in effect
     * @param to their ends before it was to end
     */
    public record Pause(String queue, Map<String, String> key, Map<Integer, Long> from, Map<Integer, Long> to) {

        private boolean includes(Entry entry, Release release) {
            return release.queue().equals(queue)
                    && release.key().equals(key)
                    && entry.offset() >= from.get(entry.partition())
                    && entry.offset() < to.get(entry.partition());
        }
    }

    private PauseInvariant() {}

    public static Breach check(Evidence evidence, List<Pause> pauses) {
        Breach.Notes notes = new Breach.Notes(NAME, "pauses", "other releases meanwhile");
        notes.count("pauses", pauses.size());
        for (Entry entry : evidence.releases().committed()) {
            Release release = entry.release();
            for (Pause pause : pauses) {
                boolean isMeanwhile = entry.offset() >= pause.from.get(entry.partition())
                        && entry.offset() < pause.to.get(entry.partition());
                if (pause.includes(entry, release)) {
                    notes.fault(release + " was released although " + pause.key + " was paused");
                } else if (isMeanwhile) {
                    notes.count("other releases meanwhile");
                }
            }
        }
        return notes.done();
    }
}
