package org.nvmf4j.nvme;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class SglDescriptorTest {
    private static final int AT = 5;

    private final MemorySegment memory = MemorySegment.ofArray(new byte[32]);

    @Property
    void readsKeyedDescriptorsThatItWrote(
            @ForAll long address,
            @ForAll @IntRange(max = SglDescriptor.MAX_KEYED_LENGTH_BYTES) int length,
            @ForAll int key,
            @ForAll boolean invalidate) {
        SglDescriptor.writeKeyed(memory, AT, address, length, key, invalidate);
        assertThat(SglDescriptor.isKeyed(memory, AT)).isTrue();
        assertThat(SglDescriptor.isInvalidate(memory, AT)).isEqualTo(invalidate);
        assertThat(SglDescriptor.isInCapsule(memory, AT)).isFalse();
        assertThat(SglDescriptor.address(memory, AT)).isEqualTo(address);
        assertThat(SglDescriptor.lengthBytes(memory, AT)).isEqualTo(length);
        assertThat(SglDescriptor.key(memory, AT)).isEqualTo(key);
        assertThat(SglDescriptor.check(memory, AT, 0)).isEqualTo(NvmeStatus.SUCCESS);
    }

    @Property
    void readsInCapsuleDescriptorsThatItWrote(@ForAll long offset, @ForAll int length) {
        SglDescriptor.writeInCapsule(memory, AT, offset, length);
        assertThat(SglDescriptor.isInCapsule(memory, AT)).isTrue();
        assertThat(SglDescriptor.isKeyed(memory, AT)).isFalse();
        assertThat(SglDescriptor.address(memory, AT)).isEqualTo(offset);
        assertThat(SglDescriptor.lengthBytes(memory, AT)).isEqualTo(Integer.toUnsignedLong(length));
    }

    @Property
    void acceptsInCapsuleDataOnlyWithinTheCapsule(
            @ForAll @LongRange(max = 20_000) long offset,
            @ForAll @IntRange(max = 20_000) int length,
            @ForAll @LongRange(max = 16_384) long available) {
        SglDescriptor.writeInCapsule(memory, AT, offset, length);
        int expected =
                offset + length <= available ? NvmeStatus.SUCCESS : NvmeStatus.SGL_OFFSET_INVALID | NvmeStatus.DNR;
        assertThat(SglDescriptor.check(memory, AT, available)).isEqualTo(expected);
    }

    @Property
    void neverAcceptsDataOutsideTheCapsuleWhateverTheBytes(
            @ForAll @Size(16) byte[] bytes, @ForAll @LongRange(max = 16_384) long available) {
        MemorySegment descriptor = MemorySegment.ofArray(bytes);
        bytes[15] = (byte) SglDescriptor.IDENTIFIER_IN_CAPSULE;
        if (SglDescriptor.check(descriptor, 0, available) == NvmeStatus.SUCCESS) {
            assertThat(SglDescriptor.address(descriptor, 0)).isBetween(0L, available);
            assertThat(SglDescriptor.lengthBytes(descriptor, 0))
                    .isBetween(0L, available - SglDescriptor.address(descriptor, 0));
        }
    }

    @Test
    void offsetPlusLengthThatWrapsIsInvalid() {
        SglDescriptor.writeInCapsule(memory, AT, -512, 1024);
        assertThat(SglDescriptor.check(memory, AT, 4096)).isEqualTo(NvmeStatus.SGL_OFFSET_INVALID | NvmeStatus.DNR);
        SglDescriptor.writeInCapsule(memory, AT, Long.MAX_VALUE, -1);
        assertThat(SglDescriptor.check(memory, AT, 4096)).isEqualTo(NvmeStatus.SGL_OFFSET_INVALID | NvmeStatus.DNR);
        SglDescriptor.writeInCapsule(memory, AT, 0, -1);
        assertThat(SglDescriptor.check(memory, AT, 4096)).isEqualTo(NvmeStatus.SGL_OFFSET_INVALID | NvmeStatus.DNR);
    }

    @Test
    void otherTypesAreInvalid() {
        for (int identifier = 0; identifier < 256; identifier++) {
            memory.set(ValueLayout.JAVA_BYTE, AT + 15, (byte) identifier);
            boolean known = identifier == 0x40 || identifier == 0x4f || identifier == 0x01;
            assertThat(SglDescriptor.check(memory, AT, 0))
                    .as("identifier 0x%02x", identifier)
                    .isEqualTo(known ? NvmeStatus.SUCCESS : NvmeStatus.SGL_DESCRIPTOR_TYPE_INVALID | NvmeStatus.DNR);
        }
    }

    @Test
    void noDataIsAKeyedDescriptorOfZeroes() {
        memory.fill((byte) 0xee);
        SglDescriptor.writeNone(memory, AT);
        byte[] expected = new byte[16];
        expected[15] = 0x40;
        assertThat(memory.asSlice(AT, 16).toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);
    }

    @Test
    void readsWhatLinuxWrote() {
        MemorySegment read = KernelBytes.segment("sqe-read");
        long at = SubmissionQueueEntry.DPTR_OFFSET;
        assertThat(SglDescriptor.identifier(read, at)).isEqualTo(SglDescriptor.IDENTIFIER_KEYED_INVALIDATE);
        assertThat(SglDescriptor.type(read, at)).isEqualTo(SglDescriptor.TYPE_KEYED_DATA_BLOCK);
        assertThat(SglDescriptor.subtype(read, at)).isEqualTo(SglDescriptor.SUBTYPE_INVALIDATE_KEY);
        assertThat(SglDescriptor.address(read, at)).isEqualTo(0xffff_8880_179a_2000L);
        assertThat(SglDescriptor.lengthBytes(read, at)).isEqualTo(4096);
        assertThat(SglDescriptor.key(read, at)).isEqualTo(0x4490);

        MemorySegment plain = KernelBytes.segment("sqe-connect-no-invalidate");
        assertThat(SglDescriptor.isKeyed(plain, at)).isTrue();
        assertThat(SglDescriptor.isInvalidate(plain, at)).isFalse();
        assertThat(SglDescriptor.key(plain, at)).isEqualTo(0x9_7609);
    }
}
