package dev.weir.policy;

import java.util.List;

/** A direct implementation of the definition of globs over code points, without regard to speed. */
final class NaiveGlob {

    private NaiveGlob() {}

    static boolean matches(String pattern, String text) {
        return matches(
                pattern.codePoints().boxed().toList(), text.codePoints().boxed().toList());
    }

    private static boolean matches(List<Integer> pattern, List<Integer> text) {
        if (pattern.isEmpty()) {
            return text.isEmpty();
        }
        if (pattern.get(0) == '*' && pattern.size() > 1 && pattern.get(1) == '*') {
            return matches(rest(rest(pattern)), text) || (!text.isEmpty() && matches(pattern, rest(text)));
        }
        if (pattern.get(0) == '*') {
            return matches(rest(pattern), text)
                    || (!text.isEmpty() && text.get(0) != '/' && matches(pattern, rest(text)));
        }
        if (text.isEmpty()) {
            return false;
        }
        if (pattern.get(0) == '?') {
            return text.get(0) != '/' && matches(rest(pattern), rest(text));
        }
        List<Integer> literal = pattern.get(0) == '\\' ? rest(pattern) : pattern;
        return literal.get(0).equals(text.get(0)) && matches(rest(literal), rest(text));
    }

    private static List<Integer> rest(List<Integer> list) {
        return list.subList(1, list.size());
    }
}
