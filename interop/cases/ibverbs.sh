# shellcheck shell=bash
# Our provider over libibverbs and librdmacm, in a guest of its own on rdma_rxe; the kernel's host and target are in the other guest.

# test_inside CLASS : all its tests
test_inside() {
    local rc=0
    GUEST_TIMEOUT=900 inside jvm test "$1" > "$OUT/test.log" 2>&1 || rc=$?
    [ "$rc" != 77 ] || { log "skip  the emulator crashed the JVM three times"; return 0; }
    grep -v -E '^(SUCCESSFUL|ABORTED|SKIPPED|    Assumption)' "$OUT/test.log"
    return "$rc"
}
two_guests() {
    check "a second guest for our programs" jvm_guest_up
    check "MTU 1500 on all ends" set_mtu 1500
}
nothing_left() {
    check "no warning in the log of the kernel's guest" quiet_dmesg guest
    check "no warning in the log of our guest" quiet_dmesg jvm
    check "rdma resource show is as before in both guests" resources_are "$1"
}

case_ibverbs_contract() {
    two_guests
    local before
    before=$(rdma_resources)
    check "the contract of RDMA providers" test_inside org.nvmf4j.ibverbs.RdmaContractTest
    check "host and target allocate nothing per I/O" test_inside org.nvmf4j.systemtest.RdmaAllocationTest
    check "rdma resource show is as before" resources_are "$before"
    in_guest jvm 'dmesg -c > /dev/null' # the tests of failures make rdma_rxe complain
}

# Our host against the kernel's target.
case_ibverbs_host() {
    two_guests
    local uri="rdma://$GUEST/$KERNEL_NQN?nsid=1" before
    before=$(rdma_resources)
    check "nvmf devices finds what rdma_rxe does about inline data" contains "up to 512 bytes; more is refused with EINVAL" inside jvm nvmf devices
    check "nvmf takes the device that owns the address" contains "$KERNEL_NQN" inside jvm nvmf discover -t rdma -a "$GUEST" --provider auto
    check "and over IPv6" contains "$KERNEL_NQN" inside jvm nvmf discover -t rdma -a "$GUEST6" --device rxe0
    check "data to copy" in_guest jvm 'seq 1 99999999 | head -c 4194304 > /tmp/in'
    check "nvmf copy there, verified" inside jvm nvmf copy /tmp/in "$uri" --verify --provider ibverbs
    check "the kernel's medium holds the data" guest 'seq 1 99999999 | head -c 4194304 > /tmp/in; dd if=/dev/nullb0 iflag=direct bs=1M count=4 status=none | cmp - /tmp/in'
    check "nvmf bench with verify" inside jvm nvmf bench -t rdma -a "$GUEST" -n "$KERNEL_NQN" --provider ibverbs --rw randwrite --bs 4k --iodepth 8 --size 2M --verify crc32c
    nothing_left "$before"
}

# Our target: the kernel's host in the other guest, our host beside it, and our host on software RoCE outside.
case_ibverbs_target() {
    two_guests
    local uri="rdma://$JVM/$NQN?nsid=1" before
    before=$(rdma_resources)
    check "nvmf serve is ready" serve_inside jvm target --listen "$JVM" --listen "[$JVM6]" --ns mem:16M --provider ibverbs
    host_connects "$JVM"
    check "fio with verify, 4 KiB to 128 KiB, depth 8" fio_in_guest "$DEV" --size=4M
    host_disconnects
    host_connects "$JVM6"
    host_disconnects
    check "data to copy" in_guest jvm 'seq 1 99999999 | head -c 4194304 > /tmp/in'
    check "our host copies there, verified" inside jvm nvmf copy /tmp/in "$uri" --verify --provider ibverbs
    check "our host on software RoCE copies it back over the wire" ours copy "$uri" "$OUT/back" --provider softroce
    check "what came back is equal" cmp -n 4194304 "$OUT/back" <(seq 1 99999999 | head -c 4194304)
    check "nvmf serve stops cleanly, and says nothing more" eval 'unserve_inside jvm target > "$OUT/serve.log" && [ "$(wc -l < "$OUT/serve.log")" = 1 ]'
    nothing_left "$before"
    rm -f "$OUT/back"
}

# The measurement of the inline question, as short as can be: that it runs, not what it finds. PAIRS=160 interop/run --keep ibverbs_compare
# takes long enough to find something, and keeps compare.md.
case_ibverbs_compare() {
    two_guests
    local before
    before=$(rdma_resources)
    # two JVMs start for it
    GUEST_TIMEOUT=300 check "nvmf bench compare on a device of the kernel" contains "asked-not-used" inside jvm nvmf bench compare \
        --arms reference,inline,asked-not-used --provider ibverbs --pairs 2 --warmup 0 --report /tmp/own
    check "nvmf bench compare against the kernel's target" compares_with_kernel
    nothing_left "$before"
}

compares_with_kernel() {
    local pairs=${PAIRS:-2}
    GUEST_TIMEOUT=$((120 + 5 * pairs)) contains "asked-not-used" inside jvm nvmf bench compare --provider ibverbs \
        -a "$GUEST" -n "$KERNEL_NQN" --pairs "$pairs" --warmup $((pairs / 16)) --report /tmp/kernel || return 1
    in_guest jvm 'cat /tmp/kernel/compare.md' > "$OUT/compare.md"
}

# nobody_runs KIB ARGS... : nvmf, as a user without rights who may lock so much memory
nobody_runs() {
    local kib=$1
    shift
    in_guest jvm "echo nobody:x:65534:65534::/tmp:/bin/sh > /etc/passwd; ulimit -l $kib
        exec su nobody -s /bin/sh -c \"$(java_command first org.nvmf4j.cli.Main "$@" | sed 's/[\\"$]/\\&/g')\""
}
# Who may not use the device, may lock no memory, or finds the link down, learns what to do.
case_ibverbs_errors() {
    two_guests
    local before
    before=$(rdma_resources)
    check "the device's nodes are closed to others" in_guest jvm 'chmod 600 /dev/infiniband/*'
    check "nvmf devices says so" contains "give this user access to /dev/infiniband" nobody_runs unlimited devices
    check "and that again they are open" in_guest jvm 'chmod 666 /dev/infiniband/*'
    check "too little locked memory" contains "ulimit -l" fails nobody_runs 8 discover -t rdma -a "$GUEST" --provider ibverbs
    check "what the kernel has to say about that" contains "Unable to pin memory" in_guest jvm 'dmesg -c'
    check "the link goes down" in_guest jvm 'ip link set eth0 down'
    check "a port that is down" contains "ip link set DEV up" fails inside jvm nvmf serve --listen "$JVM" --ns null:1G --provider ibverbs
    check "the link comes up" in_guest jvm "ip link set eth0 up && ip -6 addr replace $JVM6/64 dev eth0 nodad"
    check "a wrong device name" contains "see nvmf devices" fails inside jvm nvmf discover -t rdma -a "$GUEST" --device rxe7
    nothing_left "$before"
}
fails() { ! "$@"; }
