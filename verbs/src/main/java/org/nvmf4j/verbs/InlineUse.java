package org.nvmf4j.verbs;

/**
 * What a device's queue pairs do with inline data. For measurements that ask what inline buys; everybody else leaves it at {@link
 * #WHERE_IT_FITS}.
 */
public enum InlineUse {
    /** Room is asked for, and what fits goes inline. */
    WHERE_IT_FITS,
    /** No room is asked for: everything is posted by reference. */
    NOT_ASKED,
    /** The control of a measurement: room is asked for and granted, and everything is posted by reference all the same. */
    ASKED_NOT_USED
}
