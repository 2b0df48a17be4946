package org.nvmf4j.target;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.nvmf4j.target.backend.FileBackend;
import org.nvmf4j.target.backend.FileBackendOptions;
import org.nvmf4j.target.backend.FileBackendOptions.DirectIo;
import org.nvmf4j.target.backend.MemoryBackend;
import org.nvmf4j.target.backend.NullBackend;
import org.nvmf4j.target.spi.Backend;
import org.nvmf4j.target.spi.DriveOpener;
import org.nvmf4j.target.spi.PeerClient;

/**
 * A namespace in words, as after {@code --ns}: {@code null:SIZE}, {@code mem:SIZE}, {@code file:PATH} or {@code pcie:BDF[/NSID]}, which is a
 * namespace of an NVMe drive that the process has for itself, then {@code ,key=value} as often as needed: {@code bs=512|4096}, {@code nsid=N}, {@code uuid=UUID}, {@code ro}, {@code p2pmem=0|1|BDF},
 * for a drive {@code use_cmb_sqs=0|1} (its submission queues in the controller's memory buffer), and for a file {@code size=SIZE} (create
 * it if there is none), {@code direct=auto|on|off}, {@code threads=N}. A comma that belongs to a path is written twice.
 *
 * @param kind what backend
 * @param sizeBytes of null and memory, or of a file to create; 0 for an existing file
 * @param path of a file, else null
 * @param drive with {@link Kind#PCIE}, else null
 * @param blockSizeBytes 512, 4096, or 0 for what suits the backend
 * @param nsid 0 for the next free one
 * @param uuid null for one that stays the same for the same file or drive, or random
 * @param peerMemory which peer memory its data passes through
 * @param directIo see {@link FileBackendOptions}
 * @param threads see {@link FileBackendOptions}
 */
public record NamespaceSpec(
        Kind kind,
        long sizeBytes,
        @Nullable Path path,
        @Nullable Drive drive,
        int blockSizeBytes,
        int nsid,
        @Nullable UUID uuid,
        boolean readOnly,
        PeerMemoryChoice peerMemory,
        DirectIo directIo,
        int threads) {
    /** The form, for help texts. */
    public static final String FORM =
            "null:SIZE, mem:SIZE, file:PATH or pcie:BDF[/NSID], with ,bs=512|4096 ,nsid=N ,uuid=UUID ,ro ,p2pmem=0|1|BDF"
                    + "; for a drive ,use_cmb_sqs=0|1; for a file ,size=SIZE ,direct=auto|on|off ,threads=N";

    static final DriveOpener NO_DRIVES = (address, nsid, useCmbSqs) -> {
        throw new IOException("drive " + address + ": this program opens no drives");
    };

    /** What backend a namespace has. */
    public enum Kind {
        NULL,
        MEM,
        FILE,
        PCIE
    }

    /**
     * A namespace of a drive.
     *
     * @param pciAddress as {@code 0000:04:00.0}
     * @param nsid on the drive; 0 for the only one that there is
     * @param useCmbSqs whether its submission queues are to be in the controller's memory buffer
     */
    public record Drive(String pciAddress, int nsid, boolean useCmbSqs) {
        private static final Pattern TEXT = Pattern.compile("([^/]+)(?:/([0-9]{1,9}))?");

        /** The text behind {@code pcie:}, or null if it is something else. */
        static @Nullable Drive parse(String text, boolean useCmbSqs) {
            Matcher parts = TEXT.matcher(text);
            if (!parts.matches()) {
                return null;
            }
            String number = parts.group(2);
            int nsid = number == null ? 0 : Integer.parseInt(number);
            if (number != null && nsid == 0) {
                return null;
            }
            return PeerMemoryChoice.pciAddress(parts.group(1))
                    .map(address -> new Drive(address, nsid, useCmbSqs))
                    .orElse(null);
        }
    }

    /**
     * Reads a specification.
     *
     * @throws IllegalArgumentException with one line that says what is wrong and what is right
     */
    public static NamespaceSpec parse(String text) {
        return parse(text, PeerMemoryChoice.OFF);
    }

    /**
     * Reads a specification, with a choice of peer memory for one that names none.
     *
     * @throws IllegalArgumentException with one line that says what is wrong and what is right
     */
    public static NamespaceSpec parse(String text, PeerMemoryChoice otherwise) {
        int colon = text.indexOf(':');
        Kind kind = switch (colon < 0 ? text : text.substring(0, colon)) {
            case "null" -> Kind.NULL;
            case "mem" -> Kind.MEM;
            case "file" -> Kind.FILE;
            case "pcie" -> Kind.PCIE;
            default ->
                throw new IllegalArgumentException("namespace '" + text + "' does not say what it is; use " + FORM);
        };
        List<String> parts = split(colon < 0 ? "" : text.substring(colon + 1));
        String main = parts.getFirst();
        if (main.isEmpty()) {
            throw new IllegalArgumentException("namespace '" + text + "' has no "
                    + switch (kind) {
                        case NULL, MEM -> "size; as in mem:1G";
                        case FILE -> "path; as in file:/srv/disk.img";
                        case PCIE -> "PCI address; as in pcie:0000:04:00.0";
                    });
        }
        Options options = new Options(kind, text, otherwise);
        for (String part : parts.subList(1, parts.size())) {
            options.accept(part);
        }
        return options.spec(main);
    }

    /** Splits at commas; two commas are one that is meant. */
    private static List<String> split(String text) {
        List<String> parts = new ArrayList<>();
        StringBuilder part = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c != ',') {
                part.append(c);
            } else if (i + 1 < text.length() && text.charAt(i + 1) == ',') {
                part.append(c);
                i++;
            } else {
                parts.add(part.toString());
                part.setLength(0);
            }
        }
        parts.add(part.toString());
        return parts;
    }

    /** As {@link #open(int, DriveOpener)} where there are no drives. */
    public Namespace open(int nsid) throws IOException {
        return open(nsid, NO_DRIVES);
    }

    /**
     * Opens the backend and makes the namespace.
     *
     * @param nsid that it gets if the specification names none
     * @param drives opens those that are named by PCI address
     * @throws IOException with one line that says what is in the way and what to do
     */
    public Namespace open(int nsid, DriveOpener drives) throws IOException {
        Backend backend = openBackend(drives);
        try {
            return Namespace.builder(this.nsid == 0 ? nsid : this.nsid, backend)
                    .blockSizeBytes(blockSizeBytes)
                    .uuid(identity(backend))
                    .readOnly(readOnly)
                    .peerMemory(peerMemory)
                    .build();
        } catch (IllegalArgumentException e) {
            backend.close();
            throw e;
        }
    }

    /**
     * Who will move the namespace's data, without opening anything: for a file, what its options ask for, where {@link
     * Backend#peerClient} knows what the file system granted.
     */
    public PeerClient peerClient() {
        return switch (kind) {
            case NULL -> new PeerClient.Cpu("the null backend");
            case MEM -> new PeerClient.Cpu("the memory backend");
            case FILE ->
                directIo == DirectIo.OFF
                        ? new PeerClient.Cpu("the page cache of " + path)
                        : new PeerClient.File(Objects.requireNonNull(path));
            case PCIE ->
                new PeerClient.PciFunction(Objects.requireNonNull(drive).pciAddress(), "the drive");
        };
    }

    private @Nullable UUID identity(Backend backend) throws IOException {
        if (uuid != null) {
            return uuid;
        }
        return path != null ? uuidOf(path) : backend.identity().orElse(null);
    }

    private Backend openBackend(DriveOpener drives) throws IOException {
        return switch (kind) {
            case NULL -> new NullBackend(sizeBytes);
            case MEM -> new MemoryBackend(sizeBytes);
            case FILE ->
                FileBackend.open(
                        Objects.requireNonNull(path),
                        new FileBackendOptions(readOnly, directIo, blockSizeBytes, sizeBytes, threads));
            case PCIE -> {
                Drive named = Objects.requireNonNull(drive);
                yield drives.open(named.pciAddress(), named.nsid(), named.useCmbSqs());
            }
        };
    }

    /** The same for the same file on the same machine, so that hosts know the namespace again after a restart. */
    private static UUID uuidOf(Path path) throws IOException {
        Path machineId = Path.of("/etc/machine-id");
        if (!Files.isReadable(machineId)) {
            return UUID.randomUUID();
        }
        String name = Files.readString(machineId).strip() + ":" + path.toRealPath();
        return UUID.nameUUIDFromBytes(name.getBytes(UTF_8));
    }

    /** What was said behind the commas. */
    private static final class Options {
        private final Kind kind;
        private final String text;
        private int blockSizeBytes;
        private int nsid;
        private @Nullable UUID uuid;
        private boolean readOnly;
        private PeerMemoryChoice peerMemory;
        private boolean useCmbSqs;
        private long createSizeBytes;
        private DirectIo directIo = FileBackendOptions.DEFAULT.directIo();
        private int threads = FileBackendOptions.DEFAULT.threads();

        Options(Kind kind, String text, PeerMemoryChoice peerMemory) {
            this.kind = kind;
            this.text = text;
            this.peerMemory = peerMemory;
        }

        void accept(String part) {
            int equals = part.indexOf('=');
            String key = equals < 0 ? part : part.substring(0, equals);
            String value = equals < 0 ? "" : part.substring(equals + 1);
            boolean known = switch (key) {
                case "bs" -> {
                    blockSizeBytes = blockSize(value);
                    yield true;
                }
                case "nsid" -> {
                    nsid = number(key, value, Namespace.MAX_NSID);
                    yield true;
                }
                case "uuid" -> {
                    uuid = uuid(value);
                    yield true;
                }
                case "ro" -> {
                    readOnly = equals < 0;
                    yield readOnly;
                }
                case "p2pmem" -> {
                    peerMemory = peerMemory(value);
                    yield true;
                }
                case "use_cmb_sqs" -> {
                    useCmbSqs = flag(key, value);
                    yield kind == Kind.PCIE;
                }
                default -> kind == Kind.FILE && acceptOfFile(key, value);
            };
            if (!known) {
                throw wrong("'" + part + "' is not an option here; use " + FORM);
            }
        }

        private boolean acceptOfFile(String key, String value) {
            switch (key) {
                case "size" -> createSizeBytes = size(value);
                case "threads" -> threads = number(key, value, 256);
                case "direct" ->
                    directIo = switch (value) {
                        case "auto" -> DirectIo.AUTO;
                        case "on" -> DirectIo.ON;
                        case "off" -> DirectIo.OFF;
                        default -> throw wrong("direct=" + value + " is neither auto, on nor off");
                    };
                default -> {
                    return false;
                }
            }
            return true;
        }

        NamespaceSpec spec(String main) {
            long sizeBytes = switch (kind) {
                case NULL, MEM -> size(main);
                case FILE -> createSizeBytes;
                case PCIE -> 0;
            };
            int block = blockSizeBytes == 0 ? 512 : blockSizeBytes;
            if (sizeBytes % block != 0) {
                throw wrong("the size is not a multiple of the block size " + block + "; the next one is "
                        + (sizeBytes / block + 1) * block);
            }
            Path path = kind == Kind.FILE ? path(main) : null;
            Drive drive = kind == Kind.PCIE ? drive(main) : null;
            return new NamespaceSpec(
                    kind, sizeBytes, path, drive, blockSizeBytes, nsid, uuid, readOnly, peerMemory, directIo, threads);
        }

        private Path path(String main) {
            try {
                return Path.of(main);
            } catch (InvalidPathException e) {
                throw wrong("'" + main + "' is not a path");
            }
        }

        private Drive drive(String main) {
            Drive named = Drive.parse(main, useCmbSqs);
            if (named == null) {
                throw wrong("'" + main + "' is no PCI address, or one with the number of a namespace; as in"
                        + " pcie:0000:04:00.0 or pcie:0000:04:00.0/1");
            }
            return named;
        }

        private long size(String value) {
            long size;
            try {
                size = ByteSize.parse(value);
            } catch (IllegalArgumentException e) {
                throw wrong(String.valueOf(e.getMessage()));
            }
            if (size == 0) {
                throw wrong("a size of 0 holds no block; as in mem:1G");
            }
            return size;
        }

        private int blockSize(String value) {
            return switch (value) {
                case "512" -> 512;
                case "4096", "4k", "4K" -> 4096;
                default -> throw wrong("bs=" + value + " is neither 512 nor 4096");
            };
        }

        private int number(String key, String value, int max) {
            try {
                int number = Integer.parseInt(value);
                if (number >= 1 && number <= max) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // Said below.
            }
            throw wrong(key + "=" + value + " is not a number from 1 to " + max);
        }

        private boolean flag(String key, String value) {
            return switch (value) {
                case "0" -> false;
                case "1" -> true;
                default -> throw wrong(key + "=" + value + " is neither 0 nor 1");
            };
        }

        private PeerMemoryChoice peerMemory(String value) {
            try {
                return PeerMemoryChoice.parse(value);
            } catch (IllegalArgumentException e) {
                throw wrong(String.valueOf(e.getMessage()));
            }
        }

        private UUID uuid(String value) {
            try {
                UUID parsed = UUID.fromString(value);
                if (parsed.toString().equalsIgnoreCase(value)) {
                    return parsed;
                }
            } catch (IllegalArgumentException e) {
                // Said below.
            }
            throw wrong("uuid=" + value + " is not a UUID; as in uuid=" + UUID.randomUUID());
        }

        private IllegalArgumentException wrong(String what) {
            return new IllegalArgumentException("namespace '" + text + "': " + what);
        }
    }
}
