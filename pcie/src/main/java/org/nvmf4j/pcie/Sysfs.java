package org.nvmf4j.pcie;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/** Reads attributes of sysfs. What is unplugged while we read gives {@link NoSuchFileException}. */
final class Sysfs {
    private Sysfs() {}

    /** An attribute's text without its line end, and without the zeros to which archives fill it up. */
    static String readText(Path attribute) throws IOException {
        String text = Files.readString(attribute);
        int end = text.indexOf(0);
        return (end < 0 ? text : text.substring(0, end)).strip();
    }

    /** Whether we may map it for reading and writing. */
    static boolean isAccessible(Path file) {
        return Files.isReadable(file) && Files.isWritable(file);
    }

    /** An attribute such as {@code 0x010802}. */
    static int readHex(Path attribute) throws IOException {
        try {
            String text = readText(attribute);
            return Integer.parseUnsignedInt(text.startsWith("0x") ? text.substring(2) : text, 16);
        } catch (NumberFormatException e) {
            throw new IOException(attribute + " holds no hexadecimal number", e);
        }
    }

    /** An attribute's bytes, as far as we may read them. */
    static byte[] readBytes(Path attribute) throws NoSuchFileException {
        try {
            return Files.readAllBytes(attribute);
        } catch (NoSuchFileException e) {
            throw e;
        } catch (IOException e) {
            return new byte[0];
        }
    }

    /** A little-endian word of an attribute's bytes, -1 if we may not read as far. */
    static int readWord(Path attribute, int at) throws NoSuchFileException {
        try (FileChannel channel = FileChannel.open(attribute, StandardOpenOption.READ)) {
            ByteBuffer word = ByteBuffer.allocate(Short.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            return channel.read(word, at) == Short.BYTES ? word.getShort(0) & 0xffff : -1;
        } catch (NoSuchFileException e) {
            throw e;
        } catch (IOException e) {
            return -1;
        }
    }

    /** The innermost PCI function on a real path of sysfs. */
    static Optional<PciAddress> innermostFunction(Path realPath) {
        for (Path name = realPath; name != null; name = name.getParent()) {
            Optional<PciAddress> address = PciAddress.find(String.valueOf(name.getFileName()));
            if (address.isPresent()) {
                return address;
            }
        }
        return Optional.empty();
    }
}
