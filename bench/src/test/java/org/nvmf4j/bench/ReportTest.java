package org.nvmf4j.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class ReportTest {
    private static BenchResult result() {
        Histogram latency = new Histogram(3);
        for (int i = 1; i <= 100; i++) {
            latency.recordValue(i * 100L);
        }
        Workload workload = new Workload("job1", ReadWrite.RANDREAD, 4096, 8, 2, 1 << 20, 1000, 0, false, 50, true, 7);
        return new BenchResult(
                workload,
                "rdma://127.0.0.1/nqn?nsid=1",
                new DirectionResult(100, 409600, 2_000_000, latency),
                new DirectionResult(0, 0, 2_000_000, new Histogram(3)),
                12,
                Map.of());
    }

    @Test
    void textSaysWhatFioWouldSay() {
        assertThat(FioText.of(result()))
                .contains("job1: rw=randread, bs=4KiB, ioengine=nvmf, iodepth=8, jobs=2: rdma://127.0.0.1/nqn?nsid=1")
                .contains("read: IOPS=50k, BW=195MiB/s (205MB/s)(400KiB/2msec)")
                .contains("clat (nsec): min=100, max=")
                .contains("50.00th=[  5003]")
                .contains("verify: 12 blocks checked")
                .doesNotContain("write:");
    }

    @Test
    void jsonHasFiosMembers() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        FioJson.write(result(), "nvmf-test", Instant.ofEpochSecond(1_700_000_000), out);
        assertThat(out.toString(StandardCharsets.UTF_8))
                .contains("\"fio version\" : \"nvmf-test\"")
                .contains("\"jobname\" : \"job1\"")
                .contains("\"total_ios\" : 100")
                .contains("\"iops\" : 50000.0")
                .contains("\"50.000000\" : 5003")
                .contains("\"rw\" : \"randread\"")
                .endsWith("}\n");
    }
}
