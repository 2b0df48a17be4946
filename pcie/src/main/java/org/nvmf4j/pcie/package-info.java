/**
 * The PCI world as Linux shows it in sysfs: functions, bridges and distances, which function stands behind a name, and
 * peer-to-peer memory.
 */
@NullMarked
package org.nvmf4j.pcie;

import org.jspecify.annotations.NullMarked;
