# shellcheck shell=bash
# What befalls a drive that is served by nvmf serve --ns pcie:BDF, or the target itself, under I/O of the kernel's host (pcie-serve.sh):
# nothing hangs, what is verified is right, and the drive can be used again.

# binds_drives DRIVE... : to vfio-pci
binds_drives() {
    in_guest drives "modprobe -a vfio-pci vfio_iommu_type1 && cd /sys/bus/pci || exit 1
        for d in $*; do
            echo vfio-pci > devices/\$d/driver_override
            [ ! -e devices/\$d/driver ] || echo \$d > devices/\$d/driver/unbind
            echo \$d > drivers_probe
            readlink devices/\$d/driver | grep vfio-pci || exit 1
        done"
}
# serve_switch : the two drives below the switch, whose data all passes through the memory buffer of the first, which has its own queues there
serve_switch() {
    serve_drives --ns "pcie:$SWITCH_CMB,p2pmem=$SWITCH_CMB,use_cmb_sqs=1" --ns "pcie:$SWITCH_PLAIN,p2pmem=$SWITCH_CMB" --inline-data-size 0
}
switch_connects() {
    guest "nvme connect -t rdma -a $DRIVES -s 4420 -n $NQN -i 1 --reconnect-delay=1 --ctrl-loss-tmo=300 || exit 1
        for i in \$(seq 50); do [ -b $DEV ] && [ -b ${DEV%1}2 ] && exit 0; sleep 0.1; done; exit 1"
}
# fio_begins NSID... : writes and verifies until fio_ends, in the background
fio_begins() {
    local nsid
    for nsid; do
        guest "fio --name=v$nsid --filename=${DEV%1}$nsid --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite --bsrange=4k-64k --size=2M --loops=1000 \
            --verify=crc32c --do_verify=1 --verify_fatal=1 --randseed=$nsid > /tmp/fio$nsid 2>&1 < /dev/null & echo \$! > /tmp/fio$nsid.pid" &&
            moves "$nsid" || return 1
    done
}
# fio_ends NSID... : it still runs, and all that it has verified was right
fio_ends() {
    local nsid
    for nsid; do
        guest "kill -INT \$(cat /tmp/fio$nsid.pid) || { tail -20 /tmp/fio$nsid; exit 1; }
            for i in \$(seq 600); do [ -e /proc/\$(cat /tmp/fio$nsid.pid) ] || break; sleep 0.1; done
            tail -20 /tmp/fio$nsid; [ ! -e /proc/\$(cat /tmp/fio$nsid.pid) ] && grep -q 'err= 0' /tmp/fio$nsid" || return 1
    done
}
# fio_has_failed NSID : it has ended, and says that the device failed
fio_has_failed() {
    guest "for i in \$(seq 600); do [ -e /proc/\$(cat /tmp/fio$1.pid) ] || break; sleep 0.1; done
        tail -20 /tmp/fio$1; [ ! -e /proc/\$(cat /tmp/fio$1.pid) ] && grep -q 'Input/output error' /tmp/fio$1"
}
# moves NSID... : requests of the namespaces end, 50 more than until now
moves() {
    local nsid
    for nsid; do
        # the disk of a path counts, whose name has the controller's; that of all paths does not
        guest "ended() { cat /sys/block/nvme0*n$nsid/stat | awk '{n += \$1 + \$5} END {print n}'; }
            want=\$((\$(ended) + 50)); for i in \$(seq 400); do [ \$(ended) -ge \$want ] && exit 0; sleep 0.1; done
            echo 'no I/O ends'; dmesg | tail -5; exit 1" || return 1
    done
}
# target_says WORDS : soon
target_says() {
    in_guest drives "for i in \$(seq 300); do grep -F -e '$1' /tmp/serve.log && exit 0; sleep 0.1; done; tail /tmp/serve.log; exit 1"
}
drive_warns() { [ -z "$(vm_monitor drives "qom-set /machine/peripheral/hot smart_critical_warning $1")" ]; }
resets_function() { in_guest drives "echo 1 > /sys/bus/pci/devices/$1/reset"; }
kills_target() { in_guest drives 'kill -9 $(cat /tmp/serve.pid)'; }
# our_host_under_io : our host at work, in the background, and its process is BENCH_PID
our_host_under_io() {
    ip netns exec "$NS" "$TOP/nvmf" bench -a "$DRIVES" -n "$NQN" -N 2 --rw randread --iodepth 8 --size 1M --time_based --runtime 600 > "$OUT/bench.log" 2>&1 &
    BENCH_PID=$!
    target_says 'namespace 2 of controller 2'
}
# our_host_ends : it has failed by itself, with one line
our_host_ends() {
    local i
    for ((i = 0; i < 600; i++)); do
        if ! kill -0 "$BENCH_PID" 2>/dev/null; then
            cat "$OUT/bench.log"
            ! wait "$BENCH_PID" && [ "$(grep -c '^nvmf bench: ' "$OUT/bench.log")" = 1 ]
            return
        fi
        sleep 0.1
    done
    kill "$BENCH_PID"
    echo "it still runs"
    return 1
}
# unplugs : the first of the two; the guest's kernel lets go of it, and so does QEMU
unplugs() {
    local i
    [ -z "$(vm_monitor drives 'device_del hot')" ] || return 1
    for ((i = 0; i < 300; i++)); do
        vm_monitor drives 'info qtree' | grep -q 'id "hot"' || break
        sleep 0.1
    done
    in_guest drives "dmesg | tail -3; [ ! -e /sys/bus/pci/devices/$SWITCH_CMB ]"
}
plugs() {
    [ -z "$(vm_monitor drives "device_add nvme,id=hot,bus=down0,serial=$SWITCH_CMB,drive=hot,cmb_size_mb=16")" ] || return 1
    in_guest drives "for i in \$(seq 300); do [ -e /sys/bus/pci/devices/$SWITCH_CMB ] && exit 0; sleep 0.1; done; exit 1"
}

case_pcie_faults() {
    local BENCH_PID nsid SERVED=("$SWITCH_CMB" "$SWITCH_PLAIN")
    check "a guest with an IOMMU and drives, two of them below a switch" drives_with_switch
    check "they are bound to vfio-pci" binds_drives "$SWITCH_CMB" "$SWITCH_PLAIN"
    check "a target of both" eval 'software_rdma && serve_switch'
    check "the kernel's host writes to both" eval 'switch_connects && fio_begins 1 2'
    check "a drive reports an event" eval "drive_warns 1 && target_says 'drive $SWITCH_CMB reports:' && drive_warns 0"
    # not of the first: what is in a memory buffer meanwhile is lost
    check "somebody else resets the function of a drive" eval "resets_function $SWITCH_PLAIN && target_says 'was reset or turned off by somebody else' && moves 1 2"
    check "the host resets its controller" eval "guest 'nvme reset /dev/nvme0' && moves 1 2"
    check "our host is at work too" our_host_under_io
    check "kill -9 of the target" kills_target
    check "our host says so and ends" our_host_ends
    check "another target goes on for the kernel's host" eval 'serve_switch && moves 1 2'
    check "all was as it was written" fio_ends 1 2
    check "more I/O" fio_begins 1 2
    check "a drive is unplugged" unplugs
    check "the host is told that its namespace failed" fio_has_failed 1
    check "the other goes on, without the memory buffer that was the first's" moves 2
    check "all was as it was written" fio_ends 2
    check "the host disconnects" guest "nvme disconnect -n $NQN && dmesg -c > /dev/null"
    check "the target ends" unserve_drives
    check "the buffer has vanished" counted 'vanished [1-9]'
    check "the drive is plugged in again, and bound to vfio-pci" eval "plugs && binds_drives $SWITCH_CMB"
    check "a target of both again" serve_switch
    for nsid in 1 2; do
        check "what our host writes to ${SERVED[nsid - 1]} is on the medium" writes_drive "$nsid"
    done
    check "the target ends" unserve_drives
    check "all of it passed through the memory buffer" counted 'vanished 0' 'not selected 0'
    check "the IOMMU refused no access" no_faults
    [ -z "$KEEP" ] || cp "$RUN/drives.console" "$OUT/"
    vm_stop drives
}
