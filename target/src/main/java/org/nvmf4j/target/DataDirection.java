package org.nvmf4j.target;

/** Which way the data of a command goes. */
enum DataDirection {
    NONE,
    FROM_HOST,
    TO_HOST
}
