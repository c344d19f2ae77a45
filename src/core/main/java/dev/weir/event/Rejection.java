package dev.weir.event;

/** The reason why a record goes to the dead letters. Reasons are also metric labels, so the set is closed. */
public enum Rejection {
    /**
     * The bytes do not start with the header of Avro's or, with a schema registry, Confluent's encoding, or they do not
     * match their schema, or bytes are left over.
     */
    NOT_AVRO,
    /** Requests: the value begins with <code>{</code> and is not a request in JSON. */
    NOT_JSON,
    /** Requests: the value begins with none of the formats that Weir reads. */
    UNKNOWN_FORMAT,
    /**
     * The fingerprint of the schema is unknown to this version, or the registry has no schema with the id, or one that
     * does not resolve.
     */
    UNKNOWN_SCHEMA,
    /**
     * More than 2 MiB uncompressed: the dead letter has only the key, and the record remains at its source. Lease
     * requests: more than 256 KiB of key or value; lease responses: of their key.
     */
    RECORD_TOO_LARGE,
    /** The record is not in the partition of its client, and {@code requests.misplaced} is {@code dead-letter}. */
    MISPLACED,
    /**
     * Topic of routed requests: the origin is missing or unreadable, or the record is not in the partition of
     * its client.
     */
    INVALID_ROUTING,
    /** The client is missing or empty. */
    NO_CLIENT,
    CLIENT_TOO_LONG,
    /** The requestId is missing or empty. */
    NO_REQUEST_ID,
    REQUEST_ID_TOO_LONG,
    TIER_TOO_LONG,
    /** The cost is negative, and the request is not a {@link RequestKind#SETTLE}. */
    NEGATIVE_COST,
    /** The cost, of either sign, exceeds {@code requests.max-cost}. */
    COST_TOO_LARGE,
    /** The size is negative. */
    NEGATIVE_SIZE,
    /** The limit or the window of a {@link LimitOverride} is out of its range. */
    INVALID_LIMIT_OVERRIDE,
    /** The policyId of a {@link RequestKind#RESET} is not a valid id, or the request is of another kind. */
    INVALID_POLICY_ID,
    /** The payload exceeds {@code requests.max-payload}. */
    PAYLOAD_TOO_LARGE,
    /** There are more attributes, or longer ones, than the configuration allows. */
    ATTRIBUTES_TOO_LARGE,
    /** The queue of a CANCEL is not a valid id, or a request of another kind that is for a reservation has one. */
    INVALID_QUEUE,
    /**
     * The time of a reservation is out of its range, the requestId that a SETTLE settles is not one, or the request is of
     * another kind than those that can have them.
     */
    INVALID_RESERVATION,
    /** {@code notBefore} is more than 30 days ahead, or set for another kind than CONSUME and PEEK. */
    INVALID_NOT_BEFORE,
    /** The receipt or the result of a COMPLETE or EXTEND is missing or invalid, or a request of another kind has one. */
    INVALID_ACKNOWLEDGEMENT,
    /** A queue gives up a released request: its last attempt failed, or it was not completed in time. */
    ATTEMPTS_EXHAUSTED,
    /** A queue gives up a released request, because its worker reported that it has failed. */
    FAILED,
    /** The timestamp is before 1970 or after the year 9999. */
    TIMESTAMP_OUT_OF_RANGE,
    /** The producer's timestamp is further ahead of the clock than {@code requests.max-ahead}. */
    TIMESTAMP_AHEAD,
    /** Policies topic: the record has no key. */
    NO_KEY,
    /** Policies topic: the key names no policy or queue, or another one than the record. */
    KEY_IS_NOT_POLICY,
    /** Policies topic: the definition is invalid. */
    INVALID_POLICY,
    /** Policies topic: a later version was read before. */
    OUTDATED_POLICY
}
