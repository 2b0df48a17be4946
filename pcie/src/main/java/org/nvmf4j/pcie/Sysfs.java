package org.nvmf4j.pcie;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/** Reads attributes of sysfs. What is unplugged while we read gives {@link NoSuchFileException}. */
final class Sysfs {
    private Sysfs() {}

    /** An attribute's text without its line end. */
    static String readText(Path attribute) throws IOException {
        return Files.readString(attribute).strip();
    }

    /** An attribute such as {@code 0x010802}. */
    static int readHex(Path attribute) throws IOException {
        try {
            return Integer.decode(readText(attribute));
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
