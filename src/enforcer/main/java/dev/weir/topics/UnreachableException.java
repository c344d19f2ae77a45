package dev.weir.topics;

import dev.weir.fault.SafeText;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.TimeoutException;

/** The cluster cannot be reached or does not do what it was asked; the message is for the user. */
public final class UnreachableException extends RuntimeException {

    /**
     * A broker that speaks TLS and a client that does not, or the other way round, know no more than that nothing
     * comes.
     */
    static final String LOOK_AT = "do the brokers speak what kafka.security.protocol says?";

    /** A transactional producer says this when a call before the current one has failed; only the cause matters. */
    private static final String EARLIER_FAILURE =
            "Cannot execute transactional method because we are in an error state";

    private static final long serialVersionUID = 1L;

    public UnreachableException(String message, Throwable cause) {
        super(message, cause);
    }

    public static UnreachableException noTopic(String topic) {
        return new UnreachableException("there is no topic " + topic + "; `weir run` creates it", null);
    }

    /** A failure to read a topic; a setting that is wrong stays what it is. */
    public static RuntimeException reading(String topic, KafkaException failure) {
        return failure instanceof ConfigException
                ? failure
                : new UnreachableException("cannot read the topic " + topic + ": " + causeMessage(failure), failure);
    }

    /** What a failure and its deepest cause say, in one line; with what to look at if nobody answered. */
    public static String causeMessage(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return said(failure, root) + (root instanceof TimeoutException ? " (" + LOOK_AT + ")" : "");
    }

    private static String message(Throwable failure) {
        return failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
    }

    private static String said(Throwable failure, Throwable root) {
        String what = message(failure);
        String why = message(root);
        String both = what.contains(why) ? what : what + ": " + why;
        String said = failure != root && what.startsWith(EARLIER_FAILURE) ? why : both;
        return SafeText.of(said.replaceAll("\\s*\\R\\s*", " "))
                .replaceAll(
                        "'[^']*' in JAAS config", "something in JAAS config"); // a password without quotes, it may be
    }
}
