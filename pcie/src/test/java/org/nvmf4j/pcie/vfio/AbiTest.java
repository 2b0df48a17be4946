package org.nvmf4j.pcie.vfio;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nvmf4j.testkit.CProgram;

/** {@link Abi} against the headers of this machine, by a C program that prints what the compiler thinks. */
class AbiTest {
    private static final String HEADER = "/usr/include/linux/vfio.h";

    @Test
    void everyNumberIsThatOfTheHeaders(@TempDir Path folder) throws Exception {
        CProgram.needsHeader(HEADER, "linux-libc-dev");
        List<String> here = new ArrayList<>();
        StringBuilder program = new StringBuilder("#include <stddef.h>\n#include <stdio.h>\n#include <sys/ioctl.h>\n")
                .append("#include <linux/vfio.h>\nint main(void) {\n");
        for (Class<?> struct : Abi.class.getDeclaredClasses()) {
            for (var constant : struct.getDeclaredFields()) {
                if (constant.isSynthetic()) {
                    continue; // a coverage agent's
                }
                String what = struct.getSimpleName() + "." + constant.getName();
                program.append("  printf(\"")
                        .append(what)
                        .append(" %ld\\n\", (long) ")
                        .append(inC(struct, constant.getName()))
                        .append(");\n");
                here.add(what + " " + constant.getInt(null));
            }
        }
        program.append("  return 0;\n}\n");
        assertThat(here).hasSizeGreaterThan(60);
        assertThat(CProgram.output(folder, program.toString())).containsExactlyInAnyOrderElementsOf(here);
    }

    private static String inC(Class<?> struct, String constant) {
        if (struct == Abi.Constants.class) {
            return "VFIO_" + constant;
        }
        String name = CProgram.nameOf(struct).replace("type_1", "type1");
        if (struct == Abi.VfioIrqSet.class && constant.equals("SIZE")) {
            return "offsetof(struct " + name + ", data)";
        }
        // "size" is a field of some, and here what SIZE is for all.
        String field = constant.equals("LENGTH") ? "size" : constant.toLowerCase(Locale.ROOT);
        return constant.equals("SIZE") ? "sizeof(struct " + name + ")" : "offsetof(struct " + name + ", " + field + ")";
    }
}
