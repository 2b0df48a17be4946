package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CommandTextTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "sqe-connect-admin | Connect cid 0 qid 0 sqsize 31 (0-based) kato 4000 ms"
                        + " SGL keyed, invalidate, address 0xffff8880166a1c00 length 1024 key 0x2496",
                "sqe-property-get-cap | Property Get cid 6 CAP no data",
                "sqe-property-set-cc | Property Set cid 4102 CC value 0x460061 no data",
                "sqe-identify-controller | Identify cid 2 controller"
                        + " SGL keyed, invalidate, address 0xffff888005785000 length 4096 key 0x2497",
                "sqe-descriptors | Identify cid 4099 nsid 1 namespace identification descriptors"
                        + " SGL keyed, invalidate, address 0xffff888017b05000 length 4096 key 0x249d",
                "sqe-get-log-ana | Get Log Page cid 4105 nsid all Asymmetric Namespace Access length 8208"
                        + " SGL keyed, invalidate, address 0xffff8880166a4000 length 8208 key 0x2499",
                "sqe-set-features-queues"
                        + " | Set Features cid 8198 Number of Queues submission 2 completion 2 no data",
                "sqe-set-features-aen"
                        + " | Set Features cid 8199 Asynchronous Event Configuration value 0x900 no data",
                "sqe-aer | Asynchronous Event Request cid 31 no data",
                "sqe-keep-alive | Keep Alive cid 1 no data",
                "sqe-connect-no-invalidate | Connect cid 0 qid 0 sqsize 31 (0-based) kato 60000 ms"
                        + " SGL keyed address 0xffff888017beac00 length 1024 key 0x97609",
            })
    void describesAdminCommandsOfLinux(String name, String expected) {
        assertThat(CommandText.describe(KernelBytes.segment(name), 0, true)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "sqe-read | Read cid 17 nsid 1 slba 0 blocks 8"
                        + " SGL keyed, invalidate, address 0xffff8880179a2000 length 4096 key 0x4490",
                "capsule-write-512 | Write cid 67 nsid 1 slba 8192 blocks 1 SGL in-capsule offset 0 length 512",
                "sqe-write-zeroes | Write Zeroes cid 69 nsid 1 slba 0 blocks 8 no data",
                "capsule-dsm"
                        + " | Dataset Management cid 58 nsid 1 ranges 1 deallocate SGL in-capsule offset 0 length 16",
                "sqe-flush | Flush cid 68 nsid 1 no data",
                "capsule-connect-io"
                        + " | Connect cid 0 qid 1 sqsize 127 (0-based) kato 0 ms SGL in-capsule offset 0 length 1024",
            })
    void describesIoCommandsOfLinux(String name, String expected) {
        assertThat(CommandText.describe(KernelBytes.segment(name), 0, false)).isEqualTo(expected);
    }

    @Test
    void describesCompletionsOfLinux() {
        assertThat(CommandText.describeCompletion(KernelBytes.segment("cqe-property-get-cap"), 0))
                .isEqualTo(
                        "Completion cid 6 sqhd 2 sqid 0 result 0x8200f00007f Successful Completion (SCT 0h, SC 00h)");
        assertThat(CommandText.describeCompletion(KernelBytes.segment("cqe-read-out-of-range"), 0))
                .isEqualTo("Completion cid 70 sqhd 7 sqid 2 Internal Error (SCT 0h, SC 06h, More, DNR)");
        assertThat(CommandText.describeCompletion(KernelBytes.segment("cqe-unknown-nqn"), 0, true))
                .startsWith("Completion cid 0 sqhd 0 sqid 0 result 0x10100 Connect Invalid Parameters"
                        + " (SCT 1h, SC 82h, DNR): SUBNQN,");
    }

    @Test
    void describesWhatIsUnusual() {
        MemorySegment sqe = KernelBytes.segment("sqe-read");
        SubmissionQueueEntry.flags(sqe, 0, 0x41);
        SubmissionQueueEntry.cdw12(sqe, 0, 1 << 30);
        assertThat(CommandText.describe(sqe, 0, false))
                .startsWith("Read cid 17 nsid 1 slba 0 blocks 1 fua flags 0x41 SGL");
        SubmissionQueueEntry.opcode(sqe, 0, 0xc3);
        assertThat(CommandText.describe(sqe, 0, false))
                .startsWith("I/O opcode 0xc3 cid 17 nsid 1 cdw10-15 0x0 0x0 0x40000000 0x0 0x0 0x0 flags 0x41");
        assertThat(CommandText.describeSgl(MemorySegment.ofArray(new byte[16]), 0))
                .isEqualTo("SGL type 0h subtype 0h address 0x0 length 0");
        AbortCommand.write(sqe, 0, 1, 2, 3);
        assertThat(CommandText.describe(sqe, 0, true)).isEqualTo("Abort cid 1 of cid 3 on sqid 2 no data");
    }

    @Property
    void everyCommandHasADescriptionOfOneLine(@ForAll @Size(64) byte[] bytes, @ForAll boolean adminQueue) {
        assertThat(CommandText.describe(MemorySegment.ofArray(bytes), 0, adminQueue))
                .isNotBlank()
                .doesNotContain("\n");
    }

    @Property
    void everyCompletionHasADescriptionOfOneLine(@ForAll @Size(16) byte[] bytes, @ForAll boolean fabrics) {
        assertThat(CommandText.describeCompletion(MemorySegment.ofArray(bytes), 0, fabrics))
                .isNotBlank()
                .doesNotContain("\n");
    }
}
