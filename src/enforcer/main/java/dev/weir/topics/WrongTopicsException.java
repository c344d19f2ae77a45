package dev.weir.topics;

import dev.weir.fault.BadInput;
import java.util.List;
import java.util.stream.Collectors;

/** Thrown if existing topics do not meet Weir's requirements. The message has several lines and includes the fixes. */
public final class WrongTopicsException extends RuntimeException implements BadInput {

    private static final long serialVersionUID = 1L;

    WrongTopicsException(List<TopicRequirements.Fault> faults) {
        super(faults.stream()
                .map(TopicRequirements.Fault::toString)
                .collect(Collectors.joining("\n", "some topics do not meet Weir's requirements\n", "")));
    }
}
