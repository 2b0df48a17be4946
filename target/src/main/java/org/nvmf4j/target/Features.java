package org.nvmf4j.target;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.nvmf4j.nvme.Feature;
import org.nvmf4j.nvme.FeaturesCommand;
import org.nvmf4j.nvme.NvmeStatus;

/** The features of a controller (NVMe Base 2.0, section 5.27), by Set Features and Get Features. */
final class Features {
    private static final int FID_LOCATION = 40;
    private static final int VALUE_LOCATION = 44;
    private static final int HOST_BEHAVIOR_BYTES = 512;
    private static final int HOST_ID_BYTES = 16;
    /** Get Features of the host identifier: it has 128 bits, the only form on a fabric. */
    private static final int EXHID = 1;
    /** What SMART can warn of. */
    private static final int SMART_WARNINGS = 0xff;

    private final Controller controller;
    /** Values that are kept for the host and change nothing. */
    private final Map<Integer, Integer> remembered = new HashMap<>();

    private final byte[] hostBehavior = new byte[HOST_BEHAVIOR_BYTES];

    /** Critical warnings that the host wants to hear of; there are none. */
    private int smartWarnings;

    Features(Controller controller) {
        this.controller = controller;
    }

    void prepareSet(Request request) {
        MemorySegment capsule = request.capsule();
        int fid = FeaturesCommand.fid(capsule, request.at());
        if (FeaturesCommand.save(capsule, request.at())) {
            request.fail(NvmeStatus.FEATURE_NOT_SAVEABLE | NvmeStatus.DNR, FID_LOCATION);
        } else if (fid == Feature.HOST_IDENTIFIER) {
            // Connect says it on a fabric.
            request.fail(NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR, FID_LOCATION);
        } else if (!has(fid)) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, FID_LOCATION);
        } else if (fid == Feature.HOST_BEHAVIOR_SUPPORT) {
            request.needs(DataDirection.FROM_HOST, HOST_BEHAVIOR_BYTES);
        }
    }

    void prepareGet(Request request) {
        MemorySegment capsule = request.capsule();
        int fid = FeaturesCommand.fid(capsule, request.at());
        if (!has(fid) || FeaturesCommand.select(capsule, request.at()) != FeaturesCommand.SELECT_CURRENT) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, FID_LOCATION);
        } else if (fid == Feature.HOST_BEHAVIOR_SUPPORT) {
            request.needs(DataDirection.TO_HOST, HOST_BEHAVIOR_BYTES);
        } else if (fid == Feature.HOST_IDENTIFIER) {
            if ((FeaturesCommand.value(capsule, request.at()) & EXHID) == 0) {
                request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, VALUE_LOCATION);
            } else {
                request.needs(DataDirection.TO_HOST, HOST_ID_BYTES);
            }
        }
    }

    private boolean has(int fid) {
        return switch (fid) {
            case Feature.KEEP_ALIVE_TIMER, Feature.ASYNCHRONOUS_EVENT_CONFIGURATION, Feature.HOST_IDENTIFIER -> true;
            case Feature.ARBITRATION,
                    Feature.POWER_MANAGEMENT,
                    Feature.TEMPERATURE_THRESHOLD,
                    Feature.ERROR_RECOVERY,
                    Feature.VOLATILE_WRITE_CACHE,
                    Feature.NUMBER_OF_QUEUES,
                    Feature.WRITE_ATOMICITY_NORMAL,
                    Feature.HOST_BEHAVIOR_SUPPORT -> !controller.isDiscovery();
            default -> false;
        };
    }

    void set(Request request) {
        int fid = FeaturesCommand.fid(request.capsule(), request.at());
        int value = FeaturesCommand.value(request.capsule(), request.at());
        switch (fid) {
            case Feature.NUMBER_OF_QUEUES -> setNumberOfQueues(request, value);
            case Feature.KEEP_ALIVE_TIMER -> {
                controller.katoMillis(value & 0xffff_ffffL);
                request.result(value & 0xffff_ffffL);
            }
            case Feature.ASYNCHRONOUS_EVENT_CONFIGURATION -> setEvents(request, value);
            case Feature.VOLATILE_WRITE_CACHE -> controller.writeCacheEnabled((value & 1) != 0);
            case Feature.POWER_MANAGEMENT -> setPowerState(request, value);
            case Feature.HOST_BEHAVIOR_SUPPORT ->
                MemorySegment.copy(
                        request.memory(),
                        ValueLayout.JAVA_BYTE,
                        request.memoryAt(),
                        hostBehavior,
                        0,
                        hostBehavior.length);
            default -> remembered.put(fid, value);
        }
    }

    private void setNumberOfQueues(Request request, int value) {
        if ((value & 0xffff) == 0xffff || value >>> 16 == 0xffff) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, VALUE_LOCATION);
        } else if (controller.ioQueueCount() > 0) {
            request.fail(NvmeStatus.COMMAND_SEQUENCE_ERROR | NvmeStatus.DNR);
        } else {
            int max = controller.options().maxIoQueues();
            request.result(FeaturesCommand.numberOfQueues(
                            Math.min(FeaturesCommand.submissionQueues(value), max),
                            Math.min(FeaturesCommand.completionQueues(value), max))
                    & 0xffff_ffffL);
        }
    }

    private void setEvents(Request request, int value) {
        if ((value & ~(SMART_WARNINGS | controller.supportedNotices())) != 0) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, VALUE_LOCATION);
            return;
        }
        smartWarnings = value & SMART_WARNINGS;
        controller.events().enabled(value & controller.supportedNotices());
        request.result(value & 0xffff_ffffL);
    }

    /** There is power state 0 alone. */
    private void setPowerState(Request request, int value) {
        if ((value & 0x1f) != 0) {
            request.fail(NvmeStatus.INVALID_FIELD | NvmeStatus.DNR, VALUE_LOCATION);
        } else {
            remembered.put(Feature.POWER_MANAGEMENT, value);
        }
    }

    void get(Request request) {
        int fid = FeaturesCommand.fid(request.capsule(), request.at());
        switch (fid) {
            case Feature.HOST_BEHAVIOR_SUPPORT ->
                MemorySegment.copy(
                        hostBehavior,
                        0,
                        request.memory(),
                        ValueLayout.JAVA_BYTE,
                        request.memoryAt(),
                        hostBehavior.length);
            case Feature.HOST_IDENTIFIER -> writeHostId(request);
            default -> request.result(value(fid) & 0xffff_ffffL);
        }
    }

    private int value(int fid) {
        return switch (fid) {
            case Feature.NUMBER_OF_QUEUES -> {
                int max = controller.options().maxIoQueues();
                yield FeaturesCommand.numberOfQueues(max, max);
            }
            case Feature.KEEP_ALIVE_TIMER -> (int) controller.katoMillis();
            case Feature.ASYNCHRONOUS_EVENT_CONFIGURATION ->
                smartWarnings | controller.events().enabled();
            case Feature.VOLATILE_WRITE_CACHE -> controller.writeCacheEnabled() ? 1 : 0;
            default -> remembered.getOrDefault(fid, 0);
        };
    }

    private void writeHostId(Request request) {
        ValueLayout.OfLong bigEndian = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
        UUID hostId = controller.hostId();
        request.memory().set(bigEndian, request.memoryAt(), hostId.getMostSignificantBits());
        request.memory().set(bigEndian, request.memoryAt() + Long.BYTES, hostId.getLeastSignificantBits());
    }
}
