package org.nvmf4j.systemtest;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the module descriptors cannot say: who may know whom, and where some things must not appear. */
class ArchitectureTest {
    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("org.nvmf4j");

    /** Room to the rooms it may import. */
    private static final Map<String, List<String>> MAY_IMPORT = Map.of(
            "linux", List.of(),
            "nvme", List.of(),
            "verbs", List.of(),
            "roce", List.of("verbs"),
            "softroce", List.of("roce", "verbs", "linux"),
            "ibverbs", List.of("verbs", "linux"),
            "host", List.of("nvme", "verbs"),
            "target", List.of("nvme", "verbs"),
            "pcie", List.of("target", "nvme", "linux"),
            "bench", List.of("host", "nvme", "verbs", "linux"));

    private static final Path TOP = Path.of("..").toAbsolutePath().normalize();

    @Test
    void roomsImportOnlyWhatTheMapAllows() {
        MAY_IMPORT.forEach((room, allowed) -> {
            String[] own = Stream.concat(Stream.of(room), allowed.stream())
                    .map(r -> "org.nvmf4j." + r + "..")
                    .toArray(String[]::new);
            noClasses()
                    .that()
                    .resideInAPackage("org.nvmf4j." + room + "..")
                    .should()
                    .dependOnClassesThat(resideInAPackage("org.nvmf4j..").and(not(resideInAnyPackage(own))))
                    .because("the map in ARCHITECTURE.md says so")
                    .check(CLASSES);
        });
    }

    @Test
    void onlyTheRoomsOfSystemLibrariesCallNativeCode() {
        noClasses()
                .that()
                .resideOutsideOfPackages("org.nvmf4j.linux..", "org.nvmf4j.ibverbs..")
                .should()
                .dependOnClassesThat()
                .haveFullyQualifiedName("java.lang.foreign.Linker")
                .check(CLASSES);
    }

    @Test
    void protocolsKnowNoSocketsThreadsOrClocks() {
        noClasses()
                .that()
                .resideInAnyPackage("org.nvmf4j.nvme..", "org.nvmf4j.roce..")
                .should()
                .dependOnClassesThat(resideInAnyPackage("java.net", "java.nio.channels", "java.util.concurrent")
                        .and(not(new com.tngtech.archunit.base.DescribedPredicate<>("addresses and errors") {
                            @Override
                            public boolean test(com.tngtech.archunit.core.domain.JavaClass type) {
                                return type.getSimpleName()
                                        .matches(
                                                "Inet(4|6|Socket)?Address|UnknownHostException|ReadableByteChannel|WritableByteChannel");
                            }
                        })))
                .check(CLASSES);
        noClasses()
                .that()
                .resideInAnyPackage("org.nvmf4j.nvme..", "org.nvmf4j.roce..")
                .should()
                .callMethod(System.class, "nanoTime")
                .orShould()
                .callMethod(System.class, "currentTimeMillis")
                .check(CLASSES);
    }

    @Test
    void hostAndTargetDoNotKnowOfInline() throws IOException {
        Pattern word = Pattern.compile("(?i)inline");
        assertThat(sources("host", "target").filter(file -> contains(file, word)))
                .isEmpty();
    }

    @Test
    void sourceFilesStayReadable() throws IOException {
        assertThat(sources(allModules()).filter(file -> lines(file) > 600)).isEmpty();
    }

    @Test
    void everyPackageSaysWhatItIs() throws IOException {
        List<Path> bare = sources(allModules())
                .filter(file -> file.toString().contains("/src/main/java/") && !file.endsWith("module-info.java"))
                .filter(file -> !file.startsWith(TOP.resolve("jmh"))) // its packages are those of what it measures
                .map(Path::getParent)
                .distinct()
                .filter(dir -> !Files.exists(dir.resolve("package-info.java")))
                .toList();
        assertThat(bare).isEmpty();
    }

    private static String[] allModules() throws IOException {
        try (Stream<Path> dirs = Files.list(TOP)) {
            return dirs.filter(dir -> Files.exists(dir.resolve("pom.xml")))
                    .map(dir -> dir.getFileName().toString())
                    .toArray(String[]::new);
        }
    }

    private static Stream<Path> sources(String... modules) throws IOException {
        List<Path> all = new ArrayList<>();
        for (String module : modules) {
            try (Stream<Path> files = Files.walk(TOP.resolve(module).resolve("src"))) {
                files.filter(file -> file.toString().endsWith(".java")).forEach(all::add);
            }
        }
        return all.stream();
    }

    private static boolean contains(Path file, Pattern word) {
        try {
            return word.matcher(Files.readString(file)).find();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static long lines(Path file) {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.count();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
