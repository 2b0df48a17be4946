package org.nvmf4j.cli;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/** Addresses as people write them: {@code ADDR}, {@code ADDR:PORT}, {@code [IPV6]:PORT}. */
final class Addresses {
    /** The IANA port of NVMe over Fabrics. */
    static final int DEFAULT_PORT = 4420;

    private Addresses() {}

    /** The address and port that {@code text} names, with {@link #DEFAULT_PORT} where it has no port. */
    static InetSocketAddress parse(String text) throws UnknownHostException {
        if (text.startsWith("[")) {
            int close = text.indexOf(']');
            if (close < 0) {
                throw new IllegalArgumentException("'" + text + "' lacks its ']'");
            }
            return resolve(text.substring(1, close), port(text, text.substring(close + 1)));
        }
        int colon = text.indexOf(':');
        boolean bareIpv6 = colon >= 0 && text.indexOf(':', colon + 1) >= 0;
        return colon < 0 || bareIpv6
                ? resolve(text, DEFAULT_PORT)
                : resolve(text.substring(0, colon), port(text, text.substring(colon)));
    }

    static InetSocketAddress resolve(String host, int port) throws UnknownHostException {
        if (port < 1 || port > 0xffff) {
            throw new IllegalArgumentException("a port is 1 to 65535, not " + port);
        }
        if (host.isBlank()) {
            throw new IllegalArgumentException("an address is missing");
        }
        try {
            return new InetSocketAddress(InetAddress.getByName(unbracket(host)), port);
        } catch (UnknownHostException e) {
            UnknownHostException named = new UnknownHostException(
                    "unknown address '" + host + "': write an IPv4 or IPv6 address, or a name that resolves");
            named.initCause(e);
            throw named;
        }
    }

    static String unbracket(String host) {
        return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
    }

    static String format(InetSocketAddress address) {
        String host = address.getAddress().getHostAddress();
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
    }

    private static int port(String text, String colonAndPort) {
        if (colonAndPort.isEmpty()) {
            return DEFAULT_PORT;
        }
        try {
            if (colonAndPort.startsWith(":")) {
                return Integer.parseInt(colonAndPort.substring(1));
            }
        } catch (NumberFormatException e) {
            throw wrong(text);
        }
        throw wrong(text);
    }

    private static IllegalArgumentException wrong(String text) {
        return new IllegalArgumentException("'" + text + "' is no address; write ADDR, ADDR:PORT or [IPV6]:PORT");
    }
}
