package dev.weir.takeover;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectReader;
import dev.weir.wire.json.Json;
import java.util.List;

/**
 * What the other instances need to know of one to take over from it when it has died. It names an incarnation: after
 * a restart, the members have other member ids.
 *
 * @param instance the id of the instance
 * @param members its members of consumer groups; none if it is leaving them
 * @param transactionalIds the ids of its producers
 */
public record Announcement(String instance, List<Member> members, List<String> transactionalIds) {

    private static final int MAX_IDS = 1_000;

    /** A later version may announce more. */
    private static final ObjectReader READER =
            Json.MAPPER.readerFor(Announcement.class).without(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

    /**
     * A static member of a consumer group.
     *
     * @param instanceId its {@code group.instance.id}, which it has again after a restart
     * @param memberId the id that the group has given to this incarnation
     */
    public record Member(String group, String instanceId, String memberId) {}

    /** @throws IllegalArgumentException if something is missing, or there are too many ids */
    public Announcement {
        if (instance == null || members == null || transactionalIds == null) {
            throw new IllegalArgumentException("the announcement is incomplete");
        }
        if (members.size() > MAX_IDS || transactionalIds.size() > MAX_IDS) {
            throw new IllegalArgumentException("the announcement has more than " + MAX_IDS + " ids");
        }
        members = List.copyOf(members);
        transactionalIds = List.copyOf(transactionalIds);
    }

    /** Returns the announcement of an instance that is leaving its groups: nothing is to be taken over from it. */
    public Announcement leaving() {
        return new Announcement(instance, List.of(), List.of());
    }

    public String json() {
        return Json.write(this);
    }

    /** @throws IllegalArgumentException if it is not an announcement */
    static Announcement read(String json) {
        try {
            return READER.readValue(json);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(Json.message(e), e);
        }
    }
}
