package dev.weir.app;

import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;

/** The cluster cannot be reached or does not do what it was asked; the message is for the user. */
public final class UnreachableException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public UnreachableException(String message, Throwable cause) {
        super(message, cause);
    }

    static UnreachableException noTopic(String topic) {
        return new UnreachableException("there is no topic " + topic + "; `weir run` creates it", null);
    }

    /** A failure to read a topic; a setting that is wrong stays what it is. */
    static RuntimeException reading(String topic, KafkaException failure) {
        return failure instanceof ConfigException
                ? failure
                : new UnreachableException("cannot read the topic " + topic + ": " + why(failure), failure);
    }

    /** What a failure and its deepest cause say, in one line. */
    public static String why(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        String what = String.valueOf(failure.getMessage());
        return root == failure ? what : what + ": " + root.getMessage();
    }
}
