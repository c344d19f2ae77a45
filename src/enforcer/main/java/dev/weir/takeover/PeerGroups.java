package dev.weir.takeover;

import dev.weir.kafka.UnreachableException;
import java.util.Optional;

/** What an instance sees of another one at the brokers, and what it does there. Both methods block. */
public interface PeerGroups {

    /**
     * Returns what the brokers know of an instance. Empty if there is nothing to take over: its groups no longer have
     * these members, or it was removed less than a minute ago.
     *
     * @throws UnreachableException if the brokers do not answer
     */
    Optional<PeerActivity> activity(Announcement of);

    /**
     * Removes an instance from its groups and fences its producers.
     *
     * @throws UnreachableException if the brokers do not answer; then this can be repeated
     */
    void remove(Announcement dead, Evidence evidence);

    /** Why an instance counts as dead. */
    enum Evidence {
        /** Its host refuses connections to its port, so its process has ended. */
        REFUSED("has died"),
        /** It neither answers nor commits, although requests wait. */
        SILENT("neither answers nor commits");

        private final String text;

        Evidence(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }
}
