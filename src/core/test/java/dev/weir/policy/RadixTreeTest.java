package dev.weir.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class RadixTreeTest {

    private static final String[] WORDS = {
        "", "a", "ab", "abc", "abcd", "abd", "b", "ba", "/api/1", "/api/12", "/api/2", "/a", "zz"
    };

    /** Returns the nodes as text: two trees are the same if their texts are. */
    private static String text(RadixTree<Integer> node) {
        StringBuilder text = new StringBuilder()
                .append(node.length())
                .append(node.label())
                .append('=')
                .append(node.value())
                .append('{')
                .append(node.childChars());
        for (RadixTree<Integer> child : node.children()) {
            text.append(text(child)).append(' ');
        }
        return text.append('}').toString();
    }

    private static RadixTree<Integer> of(Map<String, Integer> words) {
        RadixTree<Integer> tree = RadixTree.empty();
        for (Map.Entry<String, Integer> word : words.entrySet()) {
            tree = tree.with(word.getKey(), word.getValue());
        }
        return tree;
    }

    @Test
    void words_share_the_nodes_of_their_prefixes() {
        assertThat(text(of(new TreeMap<>(Map.of("/api/1", 1, "/api/12", 12, "/api/2", 2)))))
                .isEqualTo("0=null{/5/api/=null{126" + "1=1{27" + "2=12{} } 6" + "2=2{} } }");
    }

    @Test
    void a_tree_after_random_changes_is_the_tree_of_the_words_that_are_left() {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            TreeMap<String, Integer> expected = new TreeMap<>();
            RadixTree<Integer> tree = RadixTree.empty();
            List<RadixTree<Integer>> earlier = new ArrayList<>();
            List<String> texts = new ArrayList<>();
            for (int change = 0; change < 40; change++) {
                String word = WORDS[random.nextInt(WORDS.length)];
                if (random.nextInt(3) == 0) {
                    expected.remove(word);
                    tree = tree.with(word, null);
                } else {
                    expected.put(word, change);
                    tree = tree.with(word, change);
                }
                assertThat(text(tree)).as("seed %d", seed).isEqualTo(text(of(expected)));
                for (String each : WORDS) {
                    assertThat(tree.get(each)).as("seed %d: %s", seed, each).isEqualTo(expected.get(each));
                }
                assertThat(tree.last())
                        .isEqualTo(
                                expected.isEmpty() ? null : expected.lastEntry().getValue());
                assertThat(tree.isEmpty()).isEqualTo(expected.isEmpty());
                earlier.add(tree);
                texts.add(text(tree));
            }
            assertThat(earlier.stream().map(RadixTreeTest::text).toList())
                    .as("a change leaves earlier trees as they are")
                    .isEqualTo(texts);
        }
    }

    /** Counts the nodes that are not shared. */
    private static int nodesOf(RadixTree<Integer> tree, RadixTree<Integer> without) {
        if (tree == without) {
            return 0;
        }
        int nodes = 1;
        for (RadixTree<Integer> child : tree.children()) {
            RadixTree<Integer> same = without == null ? null : without.child(word(tree, child));
            nodes += nodesOf(child, same);
        }
        return nodes;
    }

    private static String word(RadixTree<Integer> parent, RadixTree<Integer> child) {
        return "x".repeat(parent.length()) + child.label();
    }

    @Test
    void a_change_copies_only_the_path_of_its_word() {
        RadixTree<Integer> tree = RadixTree.empty();
        for (int i = 0; i < 20_000; i++) {
            tree = tree.with("tenant-" + i, i);
        }
        assertThat(nodesOf(tree.with("tenant-12345", 0), tree)).isLessThan(12);
        assertThat(nodesOf(tree.with("tenant-12345", null), tree)).isLessThan(12);
        assertThat(nodesOf(tree.with("tenant-new", 0), tree)).isLessThan(12);
    }
}
