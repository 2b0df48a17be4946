package org.nvmf4j.verbs;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Comparator;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Addresses as people write them, for messages: {@code 192.0.2.1}, {@code ::1}, {@code [2001:db8::1]:4420} (RFC 5952). */
public final class AddressText {
    /** Two or more groups that are zero. */
    private static final Pattern ZEROES = Pattern.compile("(?<![^:])0(?::0)+(?![^:])");

    private AddressText() {}

    /** The shortest form; with the interface only where the address means nothing without. */
    public static String of(InetAddress address) {
        return address instanceof Inet6Address six ? shortest(six) : address.getHostAddress();
    }

    /** Address and port, the address in brackets if it has colons itself; a name that is not resolved as it is. */
    public static String of(InetSocketAddress address) {
        String host = address.isUnresolved() ? address.getHostString() : of(address.getAddress());
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + address.getPort();
    }

    private static String shortest(Inet6Address address) {
        String text = address.getHostAddress();
        int zone = text.indexOf('%');
        String groups = zone < 0 ? text : text.substring(0, zone);
        return withoutZeroes(groups) + (zone >= 0 && address.isLinkLocalAddress() ? text.substring(zone) : "");
    }

    /** The longest run of zeroes, the first of equals, becomes two colons. */
    private static String withoutZeroes(String groups) {
        return ZEROES.matcher(groups)
                .results()
                .max(Comparator.comparingInt(run -> run.group().length()))
                .map(run -> around(groups, run))
                .orElse(groups);
    }

    private static String around(String groups, MatchResult run) {
        String before = groups.substring(0, Math.max(0, run.start() - 1));
        String after = groups.substring(Math.min(groups.length(), run.end() + 1));
        return before + "::" + after;
    }
}
