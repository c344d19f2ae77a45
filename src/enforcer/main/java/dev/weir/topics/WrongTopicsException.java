package dev.weir.topics;

import java.util.List;
import java.util.stream.Collectors;

/** Topics that exist are not as Weir needs them; the message, of several lines, says what to do. */
public final class WrongTopicsException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    WrongTopicsException(List<TopicRequirements.Fault> faults) {
        super(faults.stream()
                .map(TopicRequirements.Fault::toString)
                .collect(Collectors.joining("\n", "topics are not as Weir needs them\n", "")));
    }
}
