package dev.weir.shape;

import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Release;

/** Where a queue's answers and releases go. */
public interface Outlet {

    /** @param of the request that is answered */
    void emitDecision(Admission of, Decision decision);

    /** @param of the request that leaves */
    void emitRelease(Admission of, Release release);
}
