/**
 * An NVMe over Fabrics target: ports, subsystems, namespaces and their backends, in the words of {@link org.nvmf4j.target.Target}.
 *
 * <p>Inside, a {@code TargetPort} takes connections on a device and gives each queue to a {@code TargetLane}; a {@code TargetQueue} takes
 * its requests from capsule to response ({@code RequestState}); a {@code CommandSet} says what a command needs and does it; a {@code
 * QueueSender} posts what comes of it; a {@code Controller} holds its queues together across lanes.
 */
@NullMarked
package org.nvmf4j.target;

import org.jspecify.annotations.NullMarked;
