/** Discovery, controllers, queues and namespaces of an NVMe over Fabrics host. */
@NullMarked
package org.nvmf4j.host;

import org.jspecify.annotations.NullMarked;
