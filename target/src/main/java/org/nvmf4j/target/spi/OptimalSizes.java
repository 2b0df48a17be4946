package org.nvmf4j.target.spi;

/**
 * How a backend likes to be used, for hosts to know (NVM Command Set 1.0, section 5.8.2). All in bytes, 0 where nothing is known.
 *
 * @param boundary that reads and writes should not cross a multiple of
 * @param writeGranularity of which writes should be multiples
 * @param writeAlignment where writes should begin
 * @param deallocateGranularity of which deallocations should be multiples
 * @param deallocateAlignment where deallocations should begin
 * @param write the best size of a write
 */
public record OptimalSizes(
        long boundary,
        long writeGranularity,
        long writeAlignment,
        long deallocateGranularity,
        long deallocateAlignment,
        long write) {
    public static final OptimalSizes UNKNOWN = new OptimalSizes(0, 0, 0, 0, 0, 0);
}
