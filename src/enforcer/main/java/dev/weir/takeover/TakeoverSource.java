package dev.weir.takeover;

import java.time.Duration;
import java.util.Set;
import java.util.function.Supplier;

/**
 * What an instance needs to take over from others, and they from it.
 *
 * @param instance the id of the instance
 * @param announcement returns what it announces now
 * @param others returns the addresses of the other instances, {@code host:port}
 * @param groups the groups of the instances
 * @param suspectAfter how long an instance must neither answer nor commit
 */
public record TakeoverSource(
        String instance,
        Supplier<Announcement> announcement,
        Supplier<Set<String>> others,
        PeerGroups groups,
        Duration suspectAfter) {}
