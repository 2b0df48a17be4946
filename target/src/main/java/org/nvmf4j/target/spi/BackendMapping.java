package org.nvmf4j.target.spi;

/** What a {@link BackendLane} has made of memory that data of requests lies in, such as its mapping for a device. */
public interface BackendMapping extends AutoCloseable {
    /** No request lies in the memory any more; on the lane, once. */
    @Override
    void close();
}
