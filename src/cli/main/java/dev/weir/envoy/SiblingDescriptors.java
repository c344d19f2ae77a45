package dev.weir.envoy;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The descriptors of one level with the same key. Of those that match an entry, one applies: a descriptor with exactly
 * its value, otherwise the first one whose wildcards match, otherwise the one for any value.
 */
final class SiblingDescriptors {

    private final List<EnvoyDescriptor> exact = new ArrayList<>();
    private final List<EnvoyDescriptor> wildcards = new ArrayList<>();
    private final List<EnvoyDescriptor> anyValue = new ArrayList<>(1);

    void add(EnvoyDescriptor descriptor) {
        List<EnvoyDescriptor> alike =
                descriptor.matchesAnyValue() ? anyValue : descriptor.hasWildcards() ? wildcards : exact;
        alike.add(descriptor);
    }

    /** Returns the descriptors in the order of the file, except that those with the same precedence are together. */
    List<EnvoyDescriptor> all() {
        return Stream.of(exact, wildcards, anyValue).flatMap(List::stream).toList();
    }

    /** Returns groups of descriptors, lowest precedence first. No value matches two descriptors of a group. */
    List<List<EnvoyDescriptor>> byPrecedence() {
        List<List<EnvoyDescriptor>> groups = new ArrayList<>();
        groups.add(anyValue);
        for (int i = wildcards.size() - 1; i >= 0; i--) {
            groups.add(List.of(wildcards.get(i)));
        }
        groups.add(exact);
        return groups;
    }

    /** Returns the descriptor for any value, if there is one. */
    Stream<EnvoyDescriptor> anyValue() {
        return anyValue.stream();
    }
}
