/** The PCI world as Linux shows it in sysfs: functions, bridges, distances, and which function stands behind a name. */
@NullMarked
package org.nvmf4j.pcie;

import org.jspecify.annotations.NullMarked;
