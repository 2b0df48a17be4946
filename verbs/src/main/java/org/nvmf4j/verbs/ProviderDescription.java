package org.nvmf4j.verbs;

import java.util.List;

/**
 * A provider and its devices on this machine.
 *
 * @param name as in {@link Device#open(String, DeviceOptions)}
 * @param unavailableBecause why it can open none, and what to do, in one line; empty if nothing is in the way
 */
public record ProviderDescription(String name, String unavailableBecause, List<DeviceDescription> devices) {}
