package org.nvmf4j.pcie.vfio;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.nvmf4j.linux.Descriptors;
import org.nvmf4j.linux.LinuxException;
import org.nvmf4j.linux.MappedFile;

/** The system calls that VFIO takes; see {@link Descriptors} and {@link MappedFile}. Tests have a kernel of their own. */
interface Kernel {
    Kernel LINUX = new Kernel() {
        @Override
        public int open(Path file) throws IOException {
            return Descriptors.open(file);
        }

        @Override
        public int ioctl(int fd, int request, MemorySegment argument) throws LinuxException {
            return Descriptors.ioctl(fd, request, argument);
        }

        @Override
        public int ioctl(int fd, int request, long argument) throws LinuxException {
            return Descriptors.ioctl(fd, request, argument);
        }

        @Override
        public void read(int fd, long offset, MemorySegment into) throws IOException {
            Descriptors.read(fd, offset, into);
        }

        @Override
        public void write(int fd, long offset, MemorySegment from) throws IOException {
            Descriptors.write(fd, offset, from);
        }

        @Override
        public MemorySegment map(Arena arena, int fd, long offset, long lengthBytes) throws IOException {
            return MappedFile.map(arena, fd, offset, lengthBytes);
        }

        @Override
        public void close(int fd) {
            Descriptors.close(fd);
        }
    };

    int open(Path file) throws IOException;

    int ioctl(int fd, int request, MemorySegment argument) throws LinuxException;

    int ioctl(int fd, int request, long argument) throws LinuxException;

    void read(int fd, long offset, MemorySegment into) throws IOException;

    void write(int fd, long offset, MemorySegment from) throws IOException;

    MemorySegment map(Arena arena, int fd, long offset, long lengthBytes) throws IOException;

    void close(int fd);
}
