package org.nvmf4j.target.spi;

/** What a {@link BackendRequest} asks for. */
public enum BackendOperation {
    READ,
    WRITE,
    /** Whether the data is that of the backend; it never lies in memory that {@linkplain BackendRequest#mayVanish may vanish}. */
    COMPARE,
    FLUSH,
    WRITE_ZEROES,
    DEALLOCATE
}
