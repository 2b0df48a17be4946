# shellcheck shell=bash
# What befalls a drive that is served by nvmf serve --ns pcie:BDF, or the target itself, under I/O of the kernel's host (pcie-serve.sh):
# nothing hangs, what is verified is right, and the drive can be used again.

SECOND=$NET4.5

# serve_three : the two drives below the switch, whose data all passes through the memory buffer of the first, which has its queues
# there too, and one whose data does not.
# That one has what resets a controller: where data lies in another device's memory, QEMU 7.2 crashes if commands are outstanding then, as
# they wait for its only bounce buffer.
serve_three() {
    serve_drives --ns "pcie:$SWITCH_CMB,p2pmem=$SWITCH_CMB,use_cmb_sqs=1" --ns "pcie:$SWITCH_PLAIN,p2pmem=$SWITCH_CMB" --ns "pcie:$PLAIN_DRIVE" --inline-data-size 0
}
host_of_three() {
    guest "nvme connect -t rdma -a $DRIVES -s 4420 -n $NQN -i 1 --reconnect-delay=1 --ctrl-loss-tmo=300 || exit 1
        for i in \$(seq 50); do [ -b $DEV ] && [ -b ${DEV%1}2 ] && [ -b ${DEV%1}3 ] && exit 0; sleep 0.1; done; exit 1"
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
# target_says WORDS [TIMES] : soon
target_says() {
    in_guest drives "for i in \$(seq 600); do [ \$(grep -c -F -e '$1' /tmp/target.log) -ge ${2:-1} ] && exit 0; sleep 0.1; done; tail /tmp/target.log; exit 1"
}
drive_warns() { [ -z "$(vm_monitor drives "qom-set /machine/peripheral/$(qemu_id "$SWITCH_CMB") smart_critical_warning $1")" ]; }
resets_function() { in_guest drives "echo 1 > /sys/bus/pci/devices/$1/reset"; }
# sets_command DRIVE VALUE : the command register in its configuration space, behind the driver's back; VALUE in octal, of which 2 are memory
# space and 4 is bus master
sets_command() { in_guest drives "printf '\\$2' | dd of=/sys/bus/pci/devices/$1/config bs=1 seek=4 conv=notrunc status=none"; }
# is_slow LIMITS : the drive that can be
is_slow() { [ -z "$(vm_monitor drives "qom-set -j /objects/slow limits $1")" ]; }
kills_target() { in_guest drives 'kill -9 $(cat /tmp/target.pid)'; }
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
# unplugs DRIVE : the guest's kernel lets go of it, and so does QEMU
unplugs() {
    local i
    [ -z "$(vm_monitor drives "device_del $(qemu_id "$1")")" ] || return 1
    for ((i = 0; i < 300; i++)); do
        vm_monitor drives 'info qtree' | grep -q "id \"$(qemu_id "$1")\"" || break
        sleep 0.1
    done
    in_guest drives "for i in \$(seq 300); do [ -e /sys/bus/pci/devices/$1 ] || exit 0; sleep 0.1; done; dmesg | tail -3; exit 1"
}
# passes_on DRIVE VALUE : what the port above it does with accesses to the drive's registers: 7 passes them on, 4 does not. The drive knows
# nothing of it, nor does the kernel. (To be pulled out, it would take a port that tells the kernel of its presence and not of a button: QEMU has
# none, and a kernel that is not told waits minutes for the drive to be reset.)
passes_on() { sets_command "$(in_guest drives "basename \$(readlink -f /sys/bus/pci/devices/$1/..)")" "$2"; }
# plugs DRIVE : and binds it to vfio-pci
plugs() {
    [ -z "$(vm_monitor drives "device_add $(qemu_drive "$1")")" ] || return 1
    in_guest drives "for i in \$(seq 300); do [ -e /sys/bus/pci/devices/$1/driver ] && exit 0; sleep 0.1; done; exit 1" && binds_drives "$1"
}
# serves_second DRIVE : another process, at an address of its own, while the first runs
serves_second() {
    in_guest drives "ip addr add $SECOND/24 dev eth0" && serve_inside drives commands --listen "$SECOND" --ns "pcie:$1"
}
# writes_second DRIVE : likewise
writes_second() {
    head -c 1M /dev/urandom > "$OUT/data"
    ours copy "$OUT/data" "rdma://$SECOND/$NQN?nsid=1" --verify && cmp -n $((1 << 20)) "$OUT/data" "$(medium "$1")"
}
unserves_second() { unserve_inside drives commands; local rc=$?; in_guest drives "ip addr del $SECOND/24 dev eth0"; return "$rc"; }

case_pcie_faults() {
    local BENCH_PID nsid SERVED=("$SWITCH_CMB" "$SWITCH_PLAIN" "$PLAIN_DRIVE")
    drives_guest
    check "a target of three drives" eval 'software_rdma && serve_three'
    check "the kernel's host writes to all" eval 'host_of_three && fio_begins 1 2 3'
    check "a drive reports an event" eval "drive_warns 1 && target_says 'drive $SWITCH_CMB reports:' && drive_warns 0"
    check "somebody else resets the function of a drive" eval "resets_function $PLAIN_DRIVE && target_says 'was reset or turned off by somebody else' && moves 1 2 3"
    check "somebody else keeps it from memory" eval "sets_command $PLAIN_DRIVE 2 && target_says '(CSTS.CFS)' && moves 1 2 3"
    check "and turns off its registers too" eval "sets_command $PLAIN_DRIVE 0 && target_says 'was reset or turned off by somebody else' 2 && moves 1 2 3"
    check "the host resets its controller" eval "guest 'nvme reset /dev/nvme0' && moves 1 2 3"
    check "a drive takes longer than the driver has patience, if not the host" eval "guest 'echo 120000 | tee /sys/block/nvme0*n3/queue/io_timeout' &&
        is_slow '{\"iops-total\": 1, \"iops-size\": 512}' && target_says 'takes too long: abort' && moves 1 2"
    check "an abort does not help, but a reset" eval "is_slow '{\"iops-total\": 0, \"iops-size\": 0}' && target_says 'does not end even by an abort' && moves 1 2 3"
    check "our host is at work too" our_host_under_io
    check "kill -9 of the target" kills_target
    check "our host says so and ends" our_host_ends
    check "another target goes on for the kernel's host" eval 'serve_three && moves 1 2 3'
    check "all was as it was written" fio_ends 1 2 3
    check "more I/O" fio_begins 1 2
    check "a drive is unplugged" unplugs "$SWITCH_CMB"
    check "the host is told that its namespace failed" fio_has_failed 1
    check "the other goes on, without the memory buffer that was the first's" moves 2
    check "the first is plugged in again" plugs "$SWITCH_CMB"
    check "another process serves it" serves_second "$SWITCH_CMB"
    check "what our host writes to it is on the medium" writes_second "$SWITCH_CMB"
    check "nothing reaches the other any more" eval "passes_on $SWITCH_PLAIN 4 && target_says 'drive $SWITCH_PLAIN cannot be used any more: the controller has gone'"
    check "the host is told that its namespace failed" fio_has_failed 2
    check "what our host writes to the first is on the medium" writes_second "$SWITCH_CMB"
    check "the host disconnects" guest "nvme disconnect -n $NQN && dmesg -c > /dev/null"
    check "the target ends" unserve_drives
    check "the buffer has vanished" counted 'vanished [1-9]'
    check "so does the other process" unserves_second
    check "the drive is within reach again" passes_on "$SWITCH_PLAIN" 7
    check "a target of all again" serve_three
    for nsid in 1 2 3; do
        check "what our host writes to ${SERVED[nsid - 1]} is on the medium" writes_drive "$nsid"
    done
    check "the target ends" unserve_drives
    check "all that should has passed through the memory buffer" counted 'vanished 0' 'not selected 0'
    check "the IOMMU refused no access" no_faults
}
