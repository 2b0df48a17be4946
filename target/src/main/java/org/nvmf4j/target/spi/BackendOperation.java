package org.nvmf4j.target.spi;

/** What a {@link BackendRequest} asks for. */
public enum BackendOperation {
    READ,
    WRITE,
    FLUSH,
    WRITE_ZEROES,
    DEALLOCATE
}
