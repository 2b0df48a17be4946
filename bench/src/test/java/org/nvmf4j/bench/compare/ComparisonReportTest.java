package org.nvmf4j.bench.compare;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.bench.Stop;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

class ComparisonReportTest {
    private static final int PAIRS = 12;

    @TempDir
    private Path folder;

    private ComparisonReport report;

    @BeforeEach
    void compare() throws Exception {
        SplittableRandom random = new SplittableRandom(1);
        Arm one = new Arm(
                "reference", "the <first> & \"only\"", _ -> ComparisonTest.result(14_000 + random.nextInt(500)));
        Arm two = new Arm("inline", "the second", _ -> ComparisonTest.result(13_000 + random.nextInt(500)));
        Comparison comparison = Comparison.run(List.of(one, two), new Plan(PAIRS, 1, 3), new Stop(), (_, _) -> {});
        Map<String, String> setting = new LinkedHashMap<>(Machine.describe());
        setting.put("provider", "none");
        report = new ComparisonReport(
                comparison, "One & two", List.of(Metric.MEAN), setting, "nvmf bench compare --seed 3", Instant.EPOCH);
    }

    @Test
    void thePageIsWellFormedAndNeedsNothingBesideIt() throws Exception {
        String page = Files.readString(report.writeTo(folder));
        Document document = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new InputSource(new StringReader(page)));
        assertThat(document.getElementsByTagName("svg").getLength()).isEqualTo(4);
        // one dot a pair and one for the mean
        assertThat(document.getElementsByTagName("circle").getLength()).isEqualTo(PAIRS + 1);
        assertThat(page)
                .contains("the &lt;first&gt; &amp; &quot;only&quot;")
                .contains("nvmf bench compare --seed 3")
                .doesNotContain("http", "NaN", "Infinity", "<script");
    }

    @Test
    void theMarkdownHasTheSentenceTheTablesAndTheCommand() throws Exception {
        report.writeTo(folder);
        assertThat(Files.readString(folder.resolve("compare.md")))
                .startsWith("### One & two\n\n- inline is ")
                .contains("| arm | mean, µs |")
                .contains("| minus reference | mean, µs |")
                .contains("\n    nvmf bench compare --seed 3\n");
    }

    @Test
    void theJsonHasEveryPair() throws Exception {
        report.writeTo(folder);
        int means = 0;
        try (JsonParser json =
                JsonFactory.builder().build().createParser(ObjectReadContext.empty(), folder.resolve("compare.json"))) {
            boolean inMeans = false;
            for (JsonToken token = json.nextToken(); token != null; token = json.nextToken()) {
                if (token == JsonToken.START_ARRAY) {
                    inMeans = "mean".equals(json.currentName());
                } else if (token == JsonToken.END_ARRAY) {
                    inMeans = false;
                } else if (inMeans) {
                    means++;
                }
            }
        }
        assertThat(means).isEqualTo(2 * PAIRS);
    }

    @Test
    void theTextHasBothTablesAndTheSentence() {
        assertThat(report.text().lines())
                .anyMatch(line -> line.startsWith("arm "))
                .anyMatch(line -> line.startsWith("minus reference "))
                .anyMatch(line -> line.matches(
                        "inline is [0-9.]+ µs faster than reference in mean latency, 95 % CI .*, 12 pairs"));
    }
}
