package dev.weir.event;

/** Why a record is no request, or no rule, and goes to the dead letters; also a metric label, so the set is closed. */
public enum Rejection {
    /**
     * The bytes have no header of Avro's or, with a schema registry, of Confluent's, or do not hold what their schema
     * says, or more than that.
     */
    NOT_AVRO,
    /**
     * This version does not know the schema's fingerprint; or the registry has no such id, or one that does not
     * resolve.
     */
    UNKNOWN_SCHEMA,
    /** More than 2 MiB uncompressed; the dead letter has only the key, the record is where it was. */
    RECORD_TOO_LARGE,
    /** The record is not in the partition of its client, and {@code requests.misplaced} is {@code dead-letter}. */
    MISPLACED,
    /**
     * Of the topic of routed requests: the origin is missing or unreadable, or the record is not where its client
     * belongs.
     */
    INVALID_ROUTING,
    /** The client is empty. */
    NO_CLIENT,
    CLIENT_TOO_LONG,
    /** The requestId is empty. */
    NO_REQUEST_ID,
    REQUEST_ID_TOO_LONG,
    TIER_TOO_LONG,
    /** A cost below 0 that settles nothing. */
    NEGATIVE_COST,
    /** A cost, of either sign, above {@code requests.max-cost}. */
    COST_TOO_LARGE,
    /** A size below 0. */
    NEGATIVE_SIZE,
    /** More payload than {@code requests.max-payload}. */
    PAYLOAD_TOO_LARGE,
    /** More attributes, or longer ones, than the configuration allows. */
    ATTRIBUTES_TOO_LARGE,
    /** A CANCEL that does not say in which queue. */
    NO_QUEUE,
    /** A time before 1970 or after the year 9999. */
    TIMESTAMP_OUT_OF_RANGE,
    /** Stamped by its producer further ahead of the clock than {@code requests.max-ahead}. */
    TIMESTAMP_AHEAD,
    /** Of the policies topic: the record has no key. */
    NO_KEY,
    /** Of the policies topic: the key is that of no policy and no queue, or of another than the record's. */
    KEY_IS_NOT_POLICY,
    /** Of the policies topic: what it defines does not validate. */
    INVALID_POLICY,
    /** Of the policies topic: a later version was there before. */
    OUTDATED_POLICY
}
