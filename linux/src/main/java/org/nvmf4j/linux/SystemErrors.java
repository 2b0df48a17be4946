package org.nvmf4j.linux;

/** Names and words of Linux error numbers (asm-generic, the same on x86-64 and aarch64). Thread-safe. */
public final class SystemErrors {
    /** There is no such file. */
    public static final int ENOENT = 2;
    /** Interrupted by a signal; the call is made again. */
    public static final int EINTR = 4;
    /** Nothing to receive, or no room to send: try again later. */
    public static final int EAGAIN = 11;
    /** Not permitted, or refused by a packet filter. */
    public static final int EPERM = 1;
    /** Input/output error; from a UDP send with segments: the network device cannot segment. */
    public static final int EIO = 5;
    /** The file descriptor is closed. */
    public static final int EBADF = 9;
    /** No memory, or none left of what a device has. */
    public static final int ENOMEM = 12;
    /** The file's owner and mode do not let us. */
    public static final int EACCES = 13;
    /** An address outside the process's memory. */
    public static final int EFAULT = 14;
    /** Somebody else has the device. */
    public static final int EBUSY = 16;
    /** There is no such device. */
    public static final int ENODEV = 19;
    /** Invalid argument. */
    public static final int EINVAL = 22;
    /** No room left; from VFIO: no more mappings. */
    public static final int ENOSPC = 28;
    /** A datagram longer than the path to its destination carries. */
    public static final int EMSGSIZE = 90;
    /** The socket option is unknown to this kernel. */
    public static final int ENOPROTOOPT = 92;
    /** The driver or file system cannot do that. */
    public static final int EOPNOTSUPP = 95;
    /** The local address is taken. */
    public static final int EADDRINUSE = 98;
    /** The local address is not one of this machine. */
    public static final int EADDRNOTAVAIL = 99;
    /** The device's transmit queue is full. */
    public static final int ENOBUFS = 105;
    /** Nothing listens at the peer (an ICMP message). */
    public static final int ECONNREFUSED = 111;
    /** Remote input/output error; from a registration: the memory is a device's. */
    public static final int EREMOTEIO = 121;

    private SystemErrors() {}

    /**
     * The symbolic name.
     *
     * @param errno a positive error number
     * @return for instance {@code EINVAL}, or {@code errno 4095} for a number without a name
     */
    public static String name(int errno) {
        String entry = Table.entry(errno);
        return entry.isEmpty() ? "errno " + errno : entry.substring(0, entry.indexOf(' '));
    }

    /**
     * Name and words.
     *
     * @param errno a positive error number
     * @return for instance {@code EINVAL (invalid argument)}
     */
    public static String describe(int errno) {
        String entry = Table.entry(errno);
        if (entry.isEmpty()) {
            return "errno " + errno;
        }
        int space = entry.indexOf(' ');
        return entry.substring(0, space) + " (" + entry.substring(space + 1) + ")";
    }

    /** The error with these words, as the JDK's exceptions have them; 0 if there is none. */
    static int fromWords(String words) {
        for (int errno = 1; errno < Table.ENTRIES.length; errno++) {
            String entry = Table.ENTRIES[errno];
            if (entry.substring(entry.indexOf(' ') + 1).equalsIgnoreCase(words)) {
                return errno;
            }
        }
        return 0;
    }

    /** In its own class so that only a program that fails pays for it. */
    private static final class Table {
        /** Line n describes error n; a blank line is a number that Linux does not use. */
        private static final String[] ENTRIES = """

                EPERM operation not permitted
                ENOENT no such file or directory
                ESRCH no such process
                EINTR interrupted system call
                EIO input/output error
                ENXIO no such device or address
                E2BIG argument list too long
                ENOEXEC exec format error
                EBADF bad file descriptor
                ECHILD no child processes
                EAGAIN resource temporarily unavailable
                ENOMEM cannot allocate memory
                EACCES permission denied
                EFAULT bad address
                ENOTBLK block device required
                EBUSY device or resource busy
                EEXIST file exists
                EXDEV invalid cross-device link
                ENODEV no such device
                ENOTDIR not a directory
                EISDIR is a directory
                EINVAL invalid argument
                ENFILE too many open files in system
                EMFILE too many open files
                ENOTTY inappropriate ioctl for device
                ETXTBSY text file busy
                EFBIG file too large
                ENOSPC no space left on device
                ESPIPE illegal seek
                EROFS read-only file system
                EMLINK too many links
                EPIPE broken pipe
                EDOM argument out of domain
                ERANGE result out of range
                EDEADLK resource deadlock avoided
                ENAMETOOLONG file name too long
                ENOLCK no locks available
                ENOSYS function not implemented
                ENOTEMPTY directory not empty
                ELOOP too many levels of symbolic links

                ENOMSG no message of desired type
                EIDRM identifier removed
                ECHRNG channel number out of range
                EL2NSYNC level 2 not synchronized
                EL3HLT level 3 halted
                EL3RST level 3 reset
                ELNRNG link number out of range
                EUNATCH protocol driver not attached
                ENOCSI no CSI structure available
                EL2HLT level 2 halted
                EBADE invalid exchange
                EBADR invalid request descriptor
                EXFULL exchange full
                ENOANO no anode
                EBADRQC invalid request code
                EBADSLT invalid slot

                EBFONT bad font file format
                ENOSTR device not a stream
                ENODATA no data available
                ETIME timer expired
                ENOSR out of streams resources
                ENONET machine is not on the network
                ENOPKG package not installed
                EREMOTE object is remote
                ENOLINK link has been severed
                EADV advertise error
                ESRMNT srmount error
                ECOMM communication error on send
                EPROTO protocol error
                EMULTIHOP multihop attempted
                EDOTDOT RFS specific error
                EBADMSG bad message
                EOVERFLOW value too large for defined data type
                ENOTUNIQ name not unique on network
                EBADFD file descriptor in bad state
                EREMCHG remote address changed
                ELIBACC cannot access a needed shared library
                ELIBBAD accessing a corrupted shared library
                ELIBSCN .lib section in a.out corrupted
                ELIBMAX attempting to link in too many shared libraries
                ELIBEXEC cannot exec a shared library directly
                EILSEQ invalid multibyte or wide character
                ERESTART interrupted system call should be restarted
                ESTRPIPE streams pipe error
                EUSERS too many users
                ENOTSOCK socket operation on non-socket
                EDESTADDRREQ destination address required
                EMSGSIZE message too long
                EPROTOTYPE protocol wrong type for socket
                ENOPROTOOPT protocol not available
                EPROTONOSUPPORT protocol not supported
                ESOCKTNOSUPPORT socket type not supported
                EOPNOTSUPP operation not supported
                EPFNOSUPPORT protocol family not supported
                EAFNOSUPPORT address family not supported by protocol
                EADDRINUSE address already in use
                EADDRNOTAVAIL cannot assign requested address
                ENETDOWN network is down
                ENETUNREACH network is unreachable
                ENETRESET network dropped connection on reset
                ECONNABORTED software caused connection abort
                ECONNRESET connection reset by peer
                ENOBUFS no buffer space available
                EISCONN transport endpoint is already connected
                ENOTCONN transport endpoint is not connected
                ESHUTDOWN cannot send after transport endpoint shutdown
                ETOOMANYREFS too many references: cannot splice
                ETIMEDOUT connection timed out
                ECONNREFUSED connection refused
                EHOSTDOWN host is down
                EHOSTUNREACH no route to host
                EALREADY operation already in progress
                EINPROGRESS operation now in progress
                ESTALE stale file handle
                EUCLEAN structure needs cleaning
                ENOTNAM not a XENIX named type file
                ENAVAIL no XENIX semaphores available
                EISNAM is a named type file
                EREMOTEIO remote I/O error
                EDQUOT disk quota exceeded
                ENOMEDIUM no medium found
                EMEDIUMTYPE wrong medium type
                ECANCELED operation canceled
                ENOKEY required key not available
                EKEYEXPIRED key has expired
                EKEYREVOKED key has been revoked
                EKEYREJECTED key was rejected by service
                EOWNERDEAD owner died
                ENOTRECOVERABLE state not recoverable
                ERFKILL operation not possible due to RF-kill
                EHWPOISON memory page has hardware error
                """.split("\n", -1);

        static String entry(int errno) {
            return errno > 0 && errno < ENTRIES.length ? ENTRIES[errno] : "";
        }
    }
}
