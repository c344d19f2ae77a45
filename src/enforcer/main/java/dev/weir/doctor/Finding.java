package dev.weir.doctor;

import java.util.List;

/**
 * What a check has found.
 *
 * @param group what is looked at, such as {@code topics}
 * @param check what of it, such as {@code replicas}
 * @param found what is there, one line
 * @param advice what to change, a line each, commands to paste where there is one; none if all is well
 */
public record Finding(String group, String check, Verdict verdict, String found, List<String> advice) {

    /** How bad it is. */
    public enum Verdict {
        OK,
        /** It works, and something will hurt one day. */
        WARN,
        /** It does not work, or loses something. */
        FAIL,
        /** It could not be looked at. */
        SKIP
    }

    public Finding {
        advice = List.copyOf(advice);
    }
}
