package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Set;
import org.junit.jupiter.api.Test;

class NvmeStatusTest {
    private static final Set<String> NOT_CODES =
            Set.of("MORE", "DNR", "SCT_GENERIC", "SCT_COMMAND_SPECIFIC", "SCT_MEDIA", "SCT_PATH", "SCT_VENDOR");

    @Test
    void takesTheFieldApart() {
        int status = NvmeStatus.ANA_INACCESSIBLE | NvmeStatus.DNR | NvmeStatus.MORE | 2 << 11;
        assertThat(NvmeStatus.sct(status)).isEqualTo(NvmeStatus.SCT_PATH);
        assertThat(NvmeStatus.sc(status)).isEqualTo(2);
        assertThat(NvmeStatus.code(status)).isEqualTo(NvmeStatus.ANA_INACCESSIBLE);
        assertThat(NvmeStatus.crd(status)).isEqualTo(2);
        assertThat(NvmeStatus.more(status)).isTrue();
        assertThat(NvmeStatus.doNotRetry(status)).isTrue();
        assertThat(NvmeStatus.isSuccess(status)).isFalse();
        assertThat(NvmeStatus.isSuccess(NvmeStatus.SUCCESS)).isTrue();
    }

    @Test
    void readsWhatLinuxSaid() {
        int unknownNqn = CompletionQueueEntry.status(KernelBytes.segment("cqe-unknown-nqn"), 0);
        assertThat(NvmeStatus.describeFabrics(unknownNqn))
                .isEqualTo("Connect Invalid Parameters (SCT 1h, SC 82h, DNR)");
        int unknownCns = CompletionQueueEntry.status(KernelBytes.segment("cqe-identify-cns-5"), 0);
        assertThat(NvmeStatus.describe(unknownCns)).isEqualTo("Invalid Field in Command (SCT 0h, SC 02h, More, DNR)");
    }

    @Test
    void everyConstantHasAName() throws IllegalAccessException {
        int codes = 0;
        for (Field field : NvmeStatus.class.getFields()) {
            if (Modifier.isStatic(field.getModifiers()) && !NOT_CODES.contains(field.getName())) {
                int code = field.getInt(null);
                assertThat(NvmeStatus.fabricsName(code))
                        .as(field.getName())
                        .isNotEqualTo("Unknown Status")
                        .isNotEqualTo("Vendor Specific");
                codes++;
            }
        }
        assertThat(codes).isGreaterThan(80);
    }

    @Test
    void describesEveryValue() {
        for (int status = 0; status < 1 << 15; status++) {
            assertThat(NvmeStatus.describe(status)).doesNotContain("\n").contains("(SCT ");
        }
        assertThat(NvmeStatus.name(0x7ff)).isEqualTo("Vendor Specific");
        assertThat(NvmeStatus.name(0x0c0)).isEqualTo("Vendor Specific");
        assertThat(NvmeStatus.name(0x450)).isEqualTo("Unknown Status");
    }

    @Test
    void sameCodeHasAnotherNameForFabricsCommands() {
        assertThat(NvmeStatus.name(0x182)).isEqualTo("Attempted Write to Read Only Range");
        assertThat(NvmeStatus.fabricsName(0x182)).isEqualTo("Connect Invalid Parameters");
        assertThat(NvmeStatus.fabricsName(NvmeStatus.INVALID_FIELD)).isEqualTo("Invalid Field in Command");
    }

    @Test
    void exceptionSaysInOneLineWhatHappened() {
        NvmeStatusException read =
                NvmeStatusException.of("Read of 8 blocks at LBA 5", NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR, 7);
        assertThat(read).hasMessage("Read of 8 blocks at LBA 5: LBA Out of Range (SCT 0h, SC 80h, DNR)");
        assertThat(read.sct()).isZero();
        assertThat(read.sc()).isEqualTo(0x80);
        assertThat(read.doNotRetry()).isTrue();
        assertThat(read.result()).isEqualTo(7);
        assertThat(read.status()).isEqualTo(NvmeStatus.LBA_OUT_OF_RANGE | NvmeStatus.DNR);

        assertThat(NvmeStatusException.ofFabrics("Property Get of CAP", NvmeStatus.AUTHENTICATION_REQUIRED, 0))
                .hasMessage("Property Get of CAP: Authentication Required (SCT 1h, SC 91h)");
        assertThat(NvmeStatusException.ofConnect(
                        "Connect",
                        NvmeStatus.CONNECT_INVALID_PARAMETERS,
                        ConnectCommand.invalidParameter(false, ConnectCommand.QID_OFFSET)))
                .hasMessage("Connect: Connect Invalid Parameters (SCT 1h, SC 82h): QID, the queue ID");
        assertThat(NvmeStatusException.ofConnect("Connect", NvmeStatus.CONNECT_INVALID_HOST, 0))
                .hasMessage("Connect: Connect Invalid Host (SCT 1h, SC 84h)");
    }
}
