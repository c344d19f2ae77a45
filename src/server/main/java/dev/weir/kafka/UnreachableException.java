package dev.weir.kafka;

import dev.weir.fault.SafeText;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.TimeoutException;

/** Thrown if the cluster cannot be reached or rejects a request. The message is for users. */
public final class UnreachableException extends RuntimeException {

    /** The hint for timeouts. If only one of client and broker uses TLS, the client just times out. */
    public static final String LOOK_AT = "check that kafka.security.protocol matches the brokers";

    /** The message of a transactional producer if an earlier call has failed. Only its cause is informative. */
    private static final String EARLIER_FAILURE =
            "Cannot execute transactional method because we are in an error state";

    private static final long serialVersionUID = 1L;

    public UnreachableException(String message, Throwable cause) {
        super(message, cause);
    }

    /** Returns the failure if a topic does not exist. */
    public static UnreachableException noTopic(String topic) {
        return new UnreachableException("topic " + topic + " does not exist; `weir run` creates it", null);
    }

    /** Returns the failure to read a topic. A {@link ConfigException} is returned unchanged. */
    public static RuntimeException reading(String topic, KafkaException failure) {
        return failure instanceof ConfigException
                ? failure
                : new UnreachableException("cannot read the topic " + topic + ": " + causeMessage(failure), failure);
    }

    /** Returns the messages of a failure and its root cause in one line, with a hint if the root cause is a timeout. */
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
                .replaceAll("'[^']*' in JAAS config", "something in JAAS config"); // may be an unquoted password
    }
}
