# shellcheck shell=bash
# Our provider over libibverbs and librdmacm, in the guest on rdma_rxe.

rdma_contract() {
    local build=/top/ibverbs/build rc
    GUEST_ENV="NVMF4J_RDMA_ADDRESS=$GUEST NVMF4J_RDMA_NOBODY=$NET4.99" GUEST_TIMEOUT=900 \
        guest_java "$build/classes $build/test-classes $build/test-lib/*.jar" org.nvmf4j.ibverbs.ContractMain > "$OUT/contract.log" 2>&1
    rc=$?
    [ "$rc" != 77 ] || { log "skip  the emulator crashed the JVM three times"; return 0; }
    grep -v -E '^(SUCCESSFUL|ABORTED|SKIPPED|    Assumption)' "$OUT/contract.log"
    return "$rc"
}
# nothing_left : no program in the guest holds anything of its devices (what the kernel holds has no pid)
nothing_left() {
    guest 'for i in $(seq 50); do
            left=$(for k in qp cq mr pd cm_id; do rdma resource show $k; done | grep " pid ") || exit 0
            sleep 0.2
        done
        echo "$left"; exit 1'
}

case_ibverbs_contract() {
    check "the tests are built" sh -c "cd '$TOP' && ./mvnw -q -ntp -Dquick -DskipTests -pl ibverbs -am package"
    check "MTU 1500 on both ends" set_mtu 1500
    check "the contract of RDMA providers, and nothing left behind" rdma_contract
}

# Our host and the kernel's target, both in the guest.
case_ibverbs_host() {
    local uri="'rdma://$GUEST/$KERNEL_NQN?nsid=1'"
    check "MTU 1500 on both ends" set_mtu 1500
    check "nvmf devices finds what rdma_rxe does about inline data" contains "up to 512 bytes; more is refused with EINVAL" guest_nvmf devices
    check "data to copy" guest 'seq 1 99999999 | head -c 4194304 > /tmp/in'
    check "nvmf takes the device that owns the address" contains "$KERNEL_NQN" guest_nvmf discover -t rdma -a "$GUEST" --provider auto
    check "nvmf copy there, verified" guest_nvmf copy /tmp/in "$uri" --verify --provider ibverbs
    check "the kernel's medium holds the data" guest 'dd if=/dev/nullb0 bs=1M count=4 status=none | cmp - /tmp/in'
    check "nvmf bench with verify" guest_nvmf bench -t rdma -a "$GUEST" -n "$KERNEL_NQN" --provider ibverbs --rw randwrite --bs 4k --iodepth 8 --size 2M --verify crc32c
    check "no warning in the guest's log" quiet_dmesg
    check "no resource is left behind" nothing_left
}

# Our target in the guest: the kernel's host there, our host there, and our host on software RoCE outside.
case_ibverbs_target() {
    local uri="rdma://$GUEST:4421/$NQN?nsid=1"
    check "MTU 1500 on both ends" set_mtu 1500
    check "nvmf serve is ready in the guest" guest_serve --listen "$GUEST:4421" --ns mem:16M --provider ibverbs
    check "nvme connect" guest "nvme connect -t rdma -a $GUEST -s 4421 -n $NQN -i 1 || exit 1
        for i in \$(seq 50); do [ -b $DEV ] && break; sleep 0.1; done; [ -b $DEV ]"
    check "fio with verify, 4 KiB to 128 KiB, depth 8" guest "fio --name=v --filename=$DEV --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite \
        --bsrange=4k-128k --size=4M --verify=crc32c --do_verify=1 --verify_fatal=1 --randseed=7 > /tmp/fio 2>&1 || { tail -20 /tmp/fio; exit 1; }; grep -q 'err= 0' /tmp/fio"
    check "nvme disconnect" guest "nvme disconnect -n $NQN && [ ! -e $DEV ]"
    check "no warning in the guest's log" quiet_dmesg
    check "data to copy" guest 'seq 1 99999999 | head -c 4194304 > /tmp/in'
    check "our host copies there, verified" guest_nvmf copy /tmp/in "'$uri'" --verify --provider ibverbs
    check "our host on software RoCE copies it back over the wire" ours copy "$uri" "$OUT/back" --provider softroce
    check "what came back is equal" cmp -n 4194304 "$OUT/back" <(seq 1 99999999 | head -c 4194304)
    check "nvmf serve stops cleanly" guest_unserve
    check "no resource is left behind" nothing_left
    rm -f "$OUT/back"
}
