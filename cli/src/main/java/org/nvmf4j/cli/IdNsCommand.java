package org.nvmf4j.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import org.nvmf4j.host.Controller;
import org.nvmf4j.nvme.IdentifyNamespace;
import org.nvmf4j.nvme.LbaFormat;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code nvmf id-ns}. */
@Command(name = "id-ns", description = "Connect, and print a namespace's Identify data.")
final class IdNsCommand extends HostCommand {
    @Mixin
    private NamespaceMixin namespace;

    @Override
    void print(Controller controller, PrintWriter out) throws IOException {
        int nsid = namespace.nsid;
        IdentifyNamespace id = controller.namespace(nsid).identify();
        Report report = new Report()
                .hex("nsze", id.nsze())
                .hex("ncap", id.ncap())
                .hex("nuse", id.nuse())
                .hex("nsfeat", id.nsfeat())
                .number("nlbaf", id.nlbaf())
                .hex("flbas", id.flbas())
                .hex("mc", id.mc())
                .hex("dpc", id.dpc())
                .hex("dps", id.dps())
                .hex("nmic", id.nmic())
                .hex("rescap", id.rescap())
                .hex("dlfeat", id.dlfeat())
                .number("nawun", id.nawun())
                .number("nawupf", id.nawupf())
                .number("noiob", id.noiob())
                .number("anagrpid", Integer.toUnsignedLong(id.anagrpid()))
                .hex("nsattr", id.nsattr())
                .text("nguid", id.nguid().toString())
                .text("eui64", String.format("%016x", id.eui64()));
        if (output.json()) {
            report.list("lbafs", formats(id)).printJson(out);
            return;
        }
        print(report, "NVME Identify Namespace " + Integer.toUnsignedString(nsid) + ":", out);
        for (int i = 0; i <= id.nlbaf(); i++) {
            LbaFormat format = id.lbaFormat(i);
            out.printf(
                    "lbaf %2d : ms:%-3d lbads:%-2d rp:%s%s%n",
                    i,
                    format.ms(),
                    format.lbads(),
                    "0x" + Integer.toHexString(format.rp()),
                    i == id.lbaFormatIndex() ? " (in use)" : "");
        }
    }

    private static List<Report> formats(IdentifyNamespace id) {
        List<Report> formats = new ArrayList<>();
        for (int i = 0; i <= id.nlbaf(); i++) {
            LbaFormat format = id.lbaFormat(i);
            formats.add(new Report()
                    .number("ms", format.ms())
                    .number("ds", format.lbads())
                    .number("rp", format.rp()));
        }
        return formats;
    }
}
