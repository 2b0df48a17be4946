package org.nvmf4j.cli;

import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.nvmf4j.nvme.Nqn;
import org.nvmf4j.verbs.AddressText;
import picocli.CommandLine.TypeConversionException;

/**
 * A remote namespace as people write it: {@code rdma://ADDR[:PORT]/NQN?nsid=N}, with nsid 1 where it is left out.
 *
 * @param target address and port
 * @param nqn of the subsystem
 * @param nsid from 1
 */
record NamespaceUri(InetSocketAddress target, String nqn, int nsid) {
    private static final String SCHEME = "rdma://";
    private static final String NSID = "nsid=";

    static boolean isOne(String text) {
        return text.startsWith(SCHEME);
    }

    static NamespaceUri parse(String text) throws UnknownHostException {
        int slash = text.indexOf('/', SCHEME.length());
        if (!isOne(text) || slash <= SCHEME.length()) {
            throw wrong(text);
        }
        String rest = text.substring(slash + 1);
        int question = rest.indexOf('?');
        String nqn = question < 0 ? rest : rest.substring(0, question);
        if (nqn.isEmpty()) {
            throw wrong(text);
        }
        int nsid = 1;
        if (question >= 0) {
            String query = rest.substring(question + 1);
            try {
                nsid = NsidConverter.parse(query.startsWith(NSID) ? query.substring(NSID.length()) : "");
            } catch (TypeConversionException e) {
                throw wrong(text);
            }
        }
        Nqn.requireValid(nqn);
        return new NamespaceUri(Addresses.parse(text.substring(SCHEME.length(), slash)), nqn, nsid);
    }

    @Override
    public String toString() {
        return SCHEME + AddressText.of(target) + "/" + nqn + "?" + NSID + Integer.toUnsignedString(nsid);
    }

    private static IllegalArgumentException wrong(String text) {
        return new IllegalArgumentException("'" + text + "' is no namespace; write rdma://ADDR[:PORT]/NQN?nsid=N");
    }
}
