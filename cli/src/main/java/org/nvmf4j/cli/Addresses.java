package org.nvmf4j.cli;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.regex.Pattern;

/** Addresses as people write them: {@code ADDR}, {@code ADDR:PORT}, {@code [IPV6]:PORT}. */
final class Addresses {
    /** The IANA port of NVMe over Fabrics. */
    static final int DEFAULT_PORT = 4420;

    static final int MAX_PORT = 0xffff;

    /** What nobody means as a name. */
    private static final Pattern NUMERIC = Pattern.compile("[0-9.]+|.*:.*");

    private Addresses() {}

    /** The address and port that {@code text} names, with {@link #DEFAULT_PORT} where it has no port. */
    static InetSocketAddress parse(String text) throws UnknownHostException {
        int end = hostEnd(text);
        String host = text.substring(0, end);
        if (host.isBlank() || host.equals("[]")) {
            throw wrong(text);
        }
        int port = port(text, text.substring(end));
        return new InetSocketAddress(lookUp(host), port);
    }

    /** An address and port to listen on, which need not be of this machine yet. */
    static InetSocketAddress parseListen(String text) throws UnknownHostException {
        InetSocketAddress address = parse(text);
        if (address.getAddress().isAnyLocalAddress()) {
            throw new IllegalArgumentException("--listen needs an address of this machine, not " + text
                    + ": an RDMA device answers to one address");
        }
        return address;
    }

    /** Where the host ends and maybe a colon and a port begin. */
    private static int hostEnd(String text) {
        if (text.startsWith("[")) {
            int close = text.indexOf(']');
            if (close < 0) {
                throw wrong(text);
            }
            return close + 1;
        }
        int colon = text.indexOf(':');
        boolean bareIpv6 = colon >= 0 && text.indexOf(':', colon + 1) >= 0;
        return colon < 0 || bareIpv6 ? text.length() : colon;
    }

    /** Where the port begins in {@code ADDR:PORT} or {@code [IPV6]:PORT}, or -1 if there is none. */
    static int portIndex(String text) {
        int end = text.isBlank() ? text.length() : hostEnd(text);
        return end < text.length() && text.charAt(end) == ':' ? end + 1 : -1;
    }

    /** The address that a name or an address in words stands for; an IPv6 address may be in brackets. */
    static InetAddress lookUp(String host) throws UnknownHostException {
        if (host.isBlank()) {
            throw new IllegalArgumentException("an address is missing: write an IPv4 or IPv6 address, or a name");
        }
        try {
            return InetAddress.getByName(unbracket(host));
        } catch (UnknownHostException e) {
            if (NUMERIC.matcher(unbracket(host)).matches()) {
                throw new IllegalArgumentException(
                        "'" + host + "' is no address: write an IPv4 or IPv6 address, or a name", e);
            }
            UnknownHostException named = new UnknownHostException(
                    "unknown address '" + host + "': write an IPv4 or IPv6 address, or a name that resolves");
            named.initCause(e);
            throw named;
        }
    }

    private static String unbracket(String host) {
        return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
    }

    private static int port(String text, String colonAndPort) {
        if (colonAndPort.isEmpty()) {
            return DEFAULT_PORT;
        }
        try {
            int port = colonAndPort.startsWith(":") ? Integer.parseInt(colonAndPort.substring(1)) : 0;
            if (port >= 1 && port <= MAX_PORT) {
                return port;
            }
        } catch (NumberFormatException e) {
            throw wrong(text);
        }
        throw wrong(text);
    }

    private static IllegalArgumentException wrong(String text) {
        return new IllegalArgumentException("'" + text
                + "' is no address; write ADDR, ADDR:PORT or [IPV6]:PORT, with a port" + " from 1 to " + MAX_PORT);
    }
}
