package dev.weir.doctor;

import java.util.List;

/**
 * The result of a check.
 *
 * @param group the group of the check, such as {@code topics}
 * @param check the name of the check, such as {@code replicas}
 * @param found what was found, in one line
 * @param advice how to fix it, in lines, as commands where possible; empty if there is nothing to fix
 */
public record Finding(String group, String check, Verdict verdict, String found, List<String> advice) {

    /** The severity of a finding. */
    public enum Verdict {
        OK,
        /** It works, but needs attention. */
        WARN,
        /** It does not work, or loses data. */
        FAIL,
        /** It could not be checked. */
        SKIP
    }

    public Finding {
        advice = List.copyOf(advice);
    }
}
