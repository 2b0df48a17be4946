package org.nvmf4j.linux;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Comparator;
import java.util.regex.Pattern;

/** Addresses in this module's messages, in their shortest form (RFC 5952). {@code verbs} has the same for the modules above. */
final class IpText {
    /** Two or more groups that are zero, with the colons around them. */
    private static final Pattern ZEROES = Pattern.compile("(?:^|:)0(?::0)+(?:$|:)");

    private IpText() {}

    static String of(InetAddress address) {
        if (!(address instanceof Inet6Address six)) {
            return address.getHostAddress();
        }
        String text = six.getHostAddress();
        int zone = text.indexOf('%');
        String groups = zone < 0 ? text : text.substring(0, zone);
        String shortest = ZEROES.matcher(groups)
                .results()
                .max(Comparator.comparingInt(run -> run.group().length()))
                .map(run -> groups.substring(0, run.start()) + "::" + groups.substring(run.end()))
                .orElse(groups);
        return zone >= 0 && six.isLinkLocalAddress() ? shortest + text.substring(zone) : shortest;
    }
}
