package org.nvmf4j.linux;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Finds out who has a UDP port, from {@code /proc}. */
final class PortOwner {
    private final Path proc;
    private final Path sys;

    PortOwner(Path proc, Path sys) {
        this.proc = proc;
        this.sys = sys;
    }

    /** One line that says who has the port and what to do. */
    static String explain(InetAddress address, int port) {
        return new PortOwner(Path.of("/proc"), Path.of("/sys")).explanation(address, port);
    }

    /** Whether somebody has the port, or may have it where that cannot be found out. */
    static boolean mayHaveOwner(InetAddress address, int port) {
        return new PortOwner(Path.of("/proc"), Path.of("/sys")).mayBeTaken(address, port);
    }

    boolean mayBeTaken(InetAddress address, int port) {
        if (!Files.isReadable(proc.resolve(address instanceof Inet4Address ? "net/udp" : "net/udp6"))) {
            return true;
        }
        return entries().stream().anyMatch(entry -> entry.port() == port && entry.conflictsWith(address));
    }

    String explanation(InetAddress address, int port) {
        String subject = "UDP port " + port + " on " + IpText.of(address) + " is taken";
        for (Entry entry : entries()) {
            if (entry.port() == port && entry.conflictsWith(address)) {
                return subject + explainEntry(entry);
            }
        }
        return subject + ": stop the program that has it, or use another address";
    }

    private String explainEntry(Entry entry) {
        String where = entry.isWildcard() ? " on all addresses" : "";
        String process = processWith(entry.inode());
        if (!process.isEmpty()) {
            return where + " by process " + process + ": stop it, or use another "
                    + (entry.isWildcard() ? "machine or network namespace" : "address");
        }
        if (entry.uid() == 0 && rxeIsLoaded()) {
            return where + " by the kernel's rdma_rxe module: unload it (rmmod rdma_rxe) or use another network"
                    + " namespace, for both cannot have RoCE's port";
        }
        return where + " by a process of user id " + entry.uid()
                + " that cannot be seen from here (root can: ss -lunp): stop it, or use another address";
    }

    private boolean rxeIsLoaded() {
        if (Files.exists(sys.resolve("module/rdma_rxe"))) {
            return true;
        }
        return lines(proc.resolve("modules")).stream().anyMatch(line -> line.startsWith("rdma_rxe "));
    }

    private List<Entry> entries() {
        List<String> four = lines(proc.resolve("net/udp"));
        List<String> six = lines(proc.resolve("net/udp6"));
        return Stream.concat(four.stream(), six.stream())
                .filter(line -> line.contains(":") && !line.contains("local_address"))
                .map(Entry::parse)
                .toList();
    }

    /** Process id and name, for instance {@code 4711 (java)}; empty if no process that we may look at has the socket. */
    private String processWith(String inode) {
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(proc, "[0-9]*")) {
            for (Path process : processes) {
                if (holds(process, "socket:[" + inode + "]")) {
                    return process.getFileName() + name(process);
                }
            }
        } catch (IOException e) {
            return "";
        }
        return "";
    }

    private static boolean holds(Path process, String link) {
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(process.resolve("fd"))) {
            for (Path descriptor : descriptors) {
                if (isLinkTo(descriptor, link)) {
                    return true;
                }
            }
        } catch (IOException e) {
            // Ended meanwhile, or another user's.
            return false;
        }
        return false;
    }

    private static boolean isLinkTo(Path descriptor, String link) {
        try {
            return Files.readSymbolicLink(descriptor).toString().equals(link);
        } catch (IOException e) {
            // Closed meanwhile.
            return false;
        }
    }

    private static String name(Path process) {
        List<String> lines = lines(process.resolve("comm"));
        return lines.isEmpty() ? "" : " (" + lines.getFirst() + ")";
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            // Not Linux, or no such protocol.
            return List.of();
        }
    }

    /** A line of {@code /proc/net/udp} or {@code udp6}. */
    private record Entry(InetAddress address, int port, int uid, String inode) {
        private static final int LOCAL_ADDRESS = 1;
        private static final int UID = 7;
        private static final int INODE = 9;

        static Entry parse(String line) {
            String[] fields = line.trim().split("\\s+", -1);
            String[] local = fields[LOCAL_ADDRESS].split(":", -1);
            return new Entry(
                    parseAddress(local[0]),
                    Integer.parseInt(local[1], 16),
                    Integer.parseInt(fields[UID]),
                    fields[INODE]);
        }

        /** The kernel prints the address as 32-bit words of the machine's byte order, which is little-endian here. */
        private static InetAddress parseAddress(String hex) {
            byte[] bytes = new byte[hex.length() / 2];
            for (int i = 0; i < bytes.length; i++) {
                int from = 2 * ((i & ~3) + 3 - (i & 3));
                bytes[i] = (byte) Integer.parseInt(hex.substring(from, from + 2), 16);
            }
            try {
                return InetAddress.getByAddress(bytes);
            } catch (UnknownHostException e) {
                throw new IllegalArgumentException("not an address: " + hex.toLowerCase(Locale.ROOT), e);
            }
        }

        boolean isWildcard() {
            return address.isAnyLocalAddress();
        }

        /** An IPv6 wildcard socket may have the IPv4 port as well. */
        boolean conflictsWith(InetAddress wanted) {
            boolean sameFamily = address instanceof Inet4Address == wanted instanceof Inet4Address;
            return sameFamily
                    ? address.equals(wanted) || isWildcard() || wanted.isAnyLocalAddress()
                    : isWildcard() && wanted instanceof Inet4Address;
        }
    }
}
