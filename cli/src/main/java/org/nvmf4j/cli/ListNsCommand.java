package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import org.nvmf4j.host.Controller;
import picocli.CommandLine.Command;

/** {@code nvmf list-ns}. */
@Command(name = "list-ns", description = "Connect, and list the active namespaces.")
final class ListNsCommand extends HostCommand {
    @Override
    void print(Controller controller, PrintWriter out) throws IOException {
        List<Integer> ids = controller.namespaceIds();
        if (output.json()) {
            new Report()
                    .list(
                            "nsid_list",
                            ids.stream()
                                    .map(id -> new Report().number("nsid", Integer.toUnsignedLong(id)))
                                    .toList())
                    .printJson(out);
            return;
        }
        for (int i = 0; i < ids.size(); i++) {
            out.printf("[%4d]:0x%x%n", i, ids.get(i));
        }
    }
}
