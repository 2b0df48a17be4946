package org.nvmf4j.verbs;

import java.util.Map;

/**
 * A device that could be opened, for people who ask what there is.
 *
 * @param name as {@link DeviceAttributes#name}
 * @param facts in words, by what they are about, in the order in which to tell them
 */
public record DeviceDescription(String name, Map<String, String> facts) {}
