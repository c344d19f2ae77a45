package dev.weir.shape;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Release;

/** Receives the decisions and releases of queues. */
public interface Outlet {

    /** @param of the request that is answered */
    void emitDecision(Admission of, Decision decision);

    /** @param of the request that is released */
    void emitRelease(Admission of, Release release);
}
