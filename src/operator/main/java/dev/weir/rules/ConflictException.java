package dev.weir.rules;

import dev.weir.fault.BadInput;
import dev.weir.wire.PolicyAvro;
import java.util.OptionalLong;

/** The version of a policy or queue in force is not the expected one. Nothing was written. The message is one line. */
public final class ConflictException extends RuntimeException implements BadInput {

    private static final long serialVersionUID = 1L;

    private final transient PolicyAvro.Key key;
    private final long version;

    /** @param inForce null if there is none */
    ConflictException(PolicyAvro.Key key, PolicyAvro.Applied inForce) {
        super("nothing was changed: " + (inForce == null ? "there is no " : "")
                + key.kind().word() + " " + key.id() + (inForce == null ? "" : " has version " + inForce.version()));
        this.key = key;
        this.version = inForce == null ? 0 : inForce.version();
    }

    /** Returns the policy or queue. */
    public PolicyAvro.Key key() {
        return key;
    }

    /** Returns the version in force; empty if there is none. */
    public OptionalLong current() {
        return version == 0 ? OptionalLong.empty() : OptionalLong.of(version);
    }
}
