package dev.weir.topology;

/**
 * The topics' names: persisted, so that another prefix is another Weir.
 *
 * @param requests request events, keyed by client
 * @param decisions the answers, keyed by client
 * @param policies the rules, compacted
 * @param deadLetters records that are no request, as received
 */
public record Topics(String requests, String decisions, String policies, String deadLetters) {

    /** @param prefix stands before each name, {@code weir.} by default */
    public static Topics of(String prefix) {
        return new Topics(prefix + "requests", prefix + "decisions", prefix + "policies", prefix + "dead-letters");
    }
}
