package org.nvmf4j.ibverbs;

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
    private static final List<String> HEADERS =
            List.of("/usr/include/infiniband/verbs.h", "/usr/include/rdma/rdma_cma.h");

    @Test
    void everyOffsetAndSizeIsThatOfTheHeaders(@TempDir Path folder) throws Exception {
        for (String header : HEADERS) {
            CProgram.needsHeader(header, "libibverbs-dev librdmacm-dev");
        }
        List<String> here = new ArrayList<>();
        StringBuilder program = new StringBuilder("#include <stddef.h>\n#include <stdio.h>\n");
        for (String header : HEADERS) {
            program.append("#include \"").append(header).append("\"\n");
        }
        program.append("int main(void) {\n");
        for (Class<?> struct : Abi.class.getDeclaredClasses()) {
            String name = CProgram.nameOf(struct);
            for (var constant : struct.getDeclaredFields()) {
                if (constant.isSynthetic()) {
                    continue; // a coverage agent's
                }
                String field = constant.getName()
                        .toLowerCase(Locale.ROOT)
                        .replace("__", ".")
                        .replace("name_bytes", "");
                String what = struct.getSimpleName() + "." + constant.getName();
                String expression = switch (constant.getName()) {
                    case "SIZE" -> "sizeof(struct " + name + ")";
                    case "NAME_BYTES" -> "sizeof(((struct " + name + " *) 0)->name)";
                    default -> "offsetof(struct " + name + ", " + field + ")";
                };
                program.append("  printf(\"%s %zu\\n\", \"" + what + "\", " + expression + ");\n");
                here.add(what + " " + constant.getInt(null));
            }
        }
        program.append("  return 0;\n}\n");
        assertThat(here).hasSizeGreaterThan(100);
        assertThat(CProgram.output(folder, program.toString())).containsExactlyInAnyOrderElementsOf(here);
    }
}
