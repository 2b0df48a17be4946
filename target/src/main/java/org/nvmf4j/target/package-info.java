/** Ports, subsystems, controllers, namespaces and backends of an NVMe over Fabrics target. */
@NullMarked
package org.nvmf4j.target;

import org.jspecify.annotations.NullMarked;
