package org.nvmf4j.softroce;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NumberTableTest {
    @Test
    void agreesWithAMapUnderRandomAddsAndRemoves() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        Map<Integer, Integer> model = new HashMap<>();
        NumberTable<Integer> table = new NumberTable<>();
        for (int step = 0; step < 20_000; step++) {
            int number = 2 + random.nextInt(200) * 8; // few numbers with equal low bits: many collisions
            if (model.containsKey(number)) {
                model.remove(number);
                table.remove(number);
            } else {
                model.put(number, step);
                table.add(number, step);
            }
            int probe = 2 + random.nextInt(200) * 8;
            assertThat(table.get(probe)).as("seed %d step %d", seed, step).isEqualTo(model.get(probe));
            assertThat(table.size()).isEqualTo(model.size());
        }
        assertThat(table.values()).containsExactlyInAnyOrderElementsOf(model.values());
    }

    @Test
    void removingAnUnknownNumberChangesNothing() {
        NumberTable<String> table = new NumberTable<>();
        table.add(5, "five");
        table.remove(21);
        assertThat(table.get(5)).isEqualTo("five");
        assertThat(table.size()).isEqualTo(1);
    }

    @Test
    void growsBeyondItsFirstSize() {
        NumberTable<Integer> table = new NumberTable<>();
        List<Integer> all = new ArrayList<>();
        for (int i = 2; i < 1000; i++) {
            table.add(i, i);
            all.add(i);
        }
        for (int i : all) {
            assertThat(table.get(i)).isEqualTo(i);
        }
    }
}
