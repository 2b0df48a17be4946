package org.nvmf4j.pcie;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A file or folder of a device in sysfs, to see whether the device has been there all the time. One that is plugged in
 * again has a new one, and once it was missed it counts as gone for good. Thread-safe.
 */
final class DeviceFolder {
    private final Path path;
    private final Object key;
    private volatile boolean gone;

    DeviceFolder(Path path) {
        this.path = path;
        Object now = key(path);
        key = now == null ? path : now;
        gone = now == null;
    }

    boolean isPresent() {
        if (!gone && !Objects.equals(key(path), key)) {
            gone = true;
        }
        return !gone;
    }

    private static @Nullable Object key(Path path) {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
        } catch (IOException e) {
            return null;
        }
    }
}
