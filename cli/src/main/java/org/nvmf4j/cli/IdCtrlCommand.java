package org.nvmf4j.cli;

import java.io.PrintWriter;
import org.nvmf4j.host.Controller;
import org.nvmf4j.nvme.IdentifyController;
import picocli.CommandLine.Command;

/** {@code nvmf id-ctrl}. */
@Command(name = "id-ctrl", description = "Connect, and print the controller's Identify data.")
final class IdCtrlCommand extends HostCommand {
    @Override
    void print(Controller controller, PrintWriter out) {
        IdentifyController id = controller.identify();
        Report report = new Report()
                .hex("vid", id.vid())
                .hex("ssvid", id.ssvid())
                .text("sn", id.sn())
                .text("mn", id.mn())
                .text("fr", id.fr())
                .number("rab", id.rab())
                .hex("cmic", id.cmic())
                .number("mdts", id.mdts())
                .hex("cntlid", id.cntlid())
                .hex("ver", id.ver())
                .hex("rtd3r", Integer.toUnsignedLong(id.rtd3r()))
                .hex("rtd3e", Integer.toUnsignedLong(id.rtd3e()))
                .hex("oaes", Integer.toUnsignedLong(id.oaes()))
                .hex("ctratt", Integer.toUnsignedLong(id.ctratt()))
                .number("cntrltype", id.cntrltype())
                .hex("oacs", id.oacs())
                .number("acl", id.acl())
                .number("aerl", id.aerl())
                .hex("frmw", id.frmw())
                .hex("lpa", id.lpa())
                .number("elpe", id.elpe())
                .number("npss", id.npss())
                .number("kas", id.kas())
                .hex("sqes", id.sqes())
                .hex("cqes", id.cqes())
                .number("maxcmd", id.maxcmd())
                .number("nn", Integer.toUnsignedLong(id.nn()))
                .hex("oncs", id.oncs())
                .hex("fuses", id.fuses())
                .hex("fna", id.fna())
                .hex("vwc", id.vwc())
                .number("awun", id.awun())
                .number("awupf", id.awupf())
                .hex("sgls", Integer.toUnsignedLong(id.sgls()))
                .number("mnan", Integer.toUnsignedLong(id.mnan()))
                .text("subnqn", id.subnqn())
                .number("ioccsz", Integer.toUnsignedLong(id.ioccsz()))
                .number("iorcsz", Integer.toUnsignedLong(id.iorcsz()))
                .number("icdoff", id.icdoff())
                .number("msdbd", id.msdbd());
        print(report, "NVME Identify Controller:", out);
    }
}
