package org.nvmf4j.ibverbs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@link Abi} against the headers of this machine, by a C program that prints what the compiler thinks. */
class AbiTest {
    private static final List<String> HEADERS =
            List.of("/usr/include/infiniband/verbs.h", "/usr/include/rdma/rdma_cma.h");

    @Test
    void everyOffsetAndSizeIsThatOfTheHeaders(@TempDir Path folder) throws Exception {
        for (String header : HEADERS) {
            Assumptions.assumeTrue(
                    Files.exists(Path.of(header)),
                    header + " is not there: apt-get install libibverbs-dev librdmacm-dev");
        }
        List<String> here = new ArrayList<>();
        StringBuilder program = new StringBuilder("#include <stddef.h>\n#include <stdio.h>\n");
        for (String header : HEADERS) {
            program.append("#include \"").append(header).append("\"\n");
        }
        program.append("int main(void) {\n");
        for (Class<?> struct : Abi.class.getDeclaredClasses()) {
            String name = nameInC(struct.getSimpleName());
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
        assertThat(output(folder, program.toString())).containsExactlyInAnyOrderElementsOf(here);
    }

    /** {@code IbvSendWr} is {@code ibv_send_wr}. */
    private static String nameInC(String name) {
        return name.replaceAll("(?<!^)([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }

    private static List<String> output(Path folder, String program) throws IOException, InterruptedException {
        Path source = Files.writeString(folder.resolve("layout.c"), program);
        Path binary = folder.resolve("layout");
        Process compiler;
        try {
            compiler = new ProcessBuilder("cc", "-o", binary.toString(), source.toString())
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            Assumptions.abort("no C compiler here: " + e.getMessage());
            throw e;
        }
        String messages = new String(compiler.getInputStream().readAllBytes(), UTF_8);
        assertThat(compiler.waitFor()).as(messages).isZero();
        Process run = new ProcessBuilder(binary.toString()).start();
        List<String> lines =
                new String(run.getInputStream().readAllBytes(), UTF_8).lines().toList();
        assertThat(run.waitFor()).isZero();
        return lines;
    }
}
