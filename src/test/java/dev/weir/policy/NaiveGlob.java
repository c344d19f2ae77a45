package dev.weir.policy;

/** Globs by their definition, one case after the other, without a thought of speed. */
final class NaiveGlob {

    private NaiveGlob() {}

    static boolean matches(String pattern, String text) {
        if (pattern.isEmpty()) {
            return text.isEmpty();
        }
        if (pattern.startsWith("**")) {
            return matches(pattern.substring(2), text) || (!text.isEmpty() && matches(pattern, text.substring(1)));
        }
        if (pattern.startsWith("*")) {
            return matches(pattern.substring(1), text)
                    || (!text.isEmpty() && text.charAt(0) != '/' && matches(pattern, text.substring(1)));
        }
        if (text.isEmpty()) {
            return false;
        }
        if (pattern.startsWith("?")) {
            return text.charAt(0) != '/' && matches(pattern.substring(1), text.substring(1));
        }
        String rest = pattern.startsWith("\\") ? pattern.substring(1) : pattern;
        return rest.charAt(0) == text.charAt(0) && matches(rest.substring(1), text.substring(1));
    }
}
