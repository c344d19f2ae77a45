package dev.weir.policy;

import dev.weir.event.LimitOverride;
import dev.weir.event.Request;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.TreeMap;

/**
 * The SHA-256 hash of a request's content, by which a repeat is compared with the first request without storing that
 * request. Finding two contents with the same hash is infeasible, even for a client that chooses both.
 *
 * <p>The content is the cost, the tier, the size, the attributes, the payload, the limit override and the policyId; and
 * of a reservation its time, the one that is settled, and the time before which a queue does not release it. It
 * excludes the client, the kind and the requestId, which form the {@link RequestKey}. It also excludes what a producer
 * may change when it sends a request again: the timestamp, the deadline and the headers. An unknown size counts as 0,
 * as it does for policies.
 */
// The hashed bytes are unambiguous: each part has a fixed size or is preceded by its length, and a missing part has the
// length -1. Texts are hashed as UTF-16 units, because encoding to UTF-8 would replace unpaired surrogates.
//
//   cost  size  tier  number of attributes  (name  value) in the order of the names  payload  override  policyId
//   reserveMs  settles  notBefore
//
// A request without one of the last five parts adds nothing for it. A policyId begins with the length -1, a reserveMs
// with -2, a settles with -3 and a notBefore with -4, which no override does.
public record ContentHash(long first, long second, long third, long fourth) {

    private static final int MISSING = -1;
    private static final int RESERVE = -2;
    private static final int SETTLES = -3;
    private static final int NOT_BEFORE = -4;

    /** Returns the hash of the request's content. */
    public static ContentHash of(Request request) {
        TreeMap<String, String> attributes = new TreeMap<>(request.attributes());
        int bytes = Long.BYTES + Integer.BYTES + Long.BYTES + bytes(request.tier()) + Integer.BYTES + Integer.BYTES;
        for (var attribute : attributes.entrySet()) {
            bytes += bytes(attribute.getKey()) + bytes(attribute.getValue());
        }
        ByteBuffer content = ByteBuffer.allocate(bytes);
        content.putLong(request.cost());
        long size = request.sizeBytes() == null ? 0 : request.sizeBytes();
        content.putInt(size == 0 ? MISSING : Long.BYTES);
        content.putLong(size);
        put(request.tier(), content);
        content.putInt(attributes.size());
        attributes.forEach((name, value) -> {
            put(name, content);
            put(value, content);
        });
        content.putInt(request.payload() == null ? MISSING : request.payload().length);
        MessageDigest digest = sha256();
        digest.update(content.flip());
        if (request.payload() != null) {
            digest.update(request.payload());
        }
        LimitOverride override = request.limitOverride();
        if (override != null) {
            digest.update(ByteBuffer.allocate(2 * Long.BYTES)
                    .putLong(override.limit())
                    .putLong(override.windowMs())
                    .flip());
        }
        if (request.policyId() != null) {
            ByteBuffer policy = ByteBuffer.allocate(Integer.BYTES + bytes(request.policyId()));
            put(null, policy);
            put(request.policyId(), policy);
            digest.update(policy.flip());
        }
        if (request.reserveMs() != null) {
            digest.update(marked(RESERVE, request.reserveMs()));
        }
        if (request.settles() != null) {
            ByteBuffer settles = ByteBuffer.allocate(Integer.BYTES + bytes(request.settles()))
                    .putInt(SETTLES);
            put(request.settles(), settles);
            digest.update(settles.flip());
        }
        if (request.notBeforeMs() != null) {
            digest.update(marked(NOT_BEFORE, request.notBeforeMs()));
        }
        ByteBuffer hash = ByteBuffer.wrap(digest.digest());
        return new ContentHash(hash.getLong(), hash.getLong(), hash.getLong(), hash.getLong());
    }

    private static ByteBuffer marked(int mark, long number) {
        return ByteBuffer.allocate(Integer.BYTES + Long.BYTES)
                .putInt(mark)
                .putLong(number)
                .flip();
    }

    private static int bytes(String text) {
        return Integer.BYTES + (text == null ? 0 : Character.BYTES * text.length());
    }

    private static void put(String text, ByteBuffer into) {
        into.putInt(text == null ? MISSING : text.length());
        for (int i = 0; text != null && i < text.length(); i++) {
            into.putChar(text.charAt(i));
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
