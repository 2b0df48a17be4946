import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.nvmf4j.pcie.BarRange;
import org.nvmf4j.pcie.SysfsPeerMemoryProvider;
import org.nvmf4j.target.NamespaceSpec;
import org.nvmf4j.target.PeerMemoryStatistics;
import org.nvmf4j.target.Subsystem;
import org.nvmf4j.target.Target;
import org.nvmf4j.verbs.Device;
import org.nvmf4j.verbs.DeviceOptions;

/**
 * A target whose namespaces come and go as standard input says, one command a line: {@code add NSID SPEC}, {@code disable NSID}, {@code
 * enable NSID}, {@code remove NSID}, {@code quit}. Each is answered by a line {@code done ...} or {@code error ...}, after all that it
 * ended has been given back; at the start comes {@code done start}. Run by the source launcher, with {@code ./nvmf}'s jars.
 */
final class NamespaceTarget {
    private static final int PATIENCE_SECONDS = 30;

    private final Subsystem subsystem;
    private final Target target;

    private NamespaceTarget(Subsystem subsystem, Target target) {
        this.subsystem = subsystem;
        this.target = target;
    }

    /** Arguments: address, NQN, sysfs tree, and the BAR of it that is peer memory. */
    public static void main(String[] args) throws Exception {
        Subsystem subsystem = new Subsystem(args[1]);
        SysfsPeerMemoryProvider peerMemory =
                new SysfsPeerMemoryProvider(Path.of(args[2]), List.of(BarRange.parse(args[3])));
        try (Device device = Device.open(Device.ANY_PROVIDER, DeviceOptions.at(InetAddress.getByName(args[0])));
                Target target = Target.builder()
                        .listen(device, 4420)
                        .subsystem(subsystem)
                        .peerMemory(peerMemory)
                        .start()) {
            new NamespaceTarget(subsystem, target).obey(new BufferedReader(new InputStreamReader(System.in)));
        }
        System.out.println("done quit"); // everything was given back, or close would have thrown
    }

    private void obey(BufferedReader commands) throws IOException {
        answer("start");
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            try {
                execute(line.split(" "));
                answer(line);
            } catch (Exception e) {
                System.out.println("error " + line + ": " + e);
            }
        }
    }

    private void execute(String[] words) throws Exception {
        int nsid = Integer.parseInt(words[1]);
        switch (words[0]) {
            case "add" -> subsystem.addNamespaces(List.of(NamespaceSpec.parse(words[2] + ",nsid=" + nsid)));
            case "disable" -> await(subsystem.disableNamespace(nsid));
            case "enable" -> subsystem.enableNamespace(nsid);
            case "remove" -> await(subsystem.removeNamespace(nsid));
            default -> throw new IllegalArgumentException("no such command");
        }
    }

    private static void await(CompletableFuture<Void> unused) throws Exception {
        unused.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private void answer(String command) {
        PeerMemoryStatistics s = target.peerMemoryStatistics();
        System.out.println("done " + command + "; peer memory: " + s.bytes() + " bytes passed, " + s.lost() + " lost, "
                + s.heldBytes() + " held");
    }
}
