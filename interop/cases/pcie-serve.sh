# shellcheck shell=bash
# nvmf serve --ns pcie:BDF in the guest with drives (pcie.sh); hosts are on the other side of the wire: ours out here, and the kernel's in its
# guest. What they write has to be on the media, whose files are out here, and what passes through a memory buffer has to be seen in it.

# serve_drives ARGS... : our target in that guest until unserve_drives
serve_drives() { serve_inside drives target -v --listen "$DRIVES" "$@"; }
# serve_all : all of SERVED, which the case has
serve_all() {
    local served arguments=()
    for served in "${SERVED[@]}" "$SWITCH_CMB none"; do arguments+=(--ns "pcie:${served% *}"); done
    serve_drives "${arguments[@]}" --inline-data-size 4096 --lanes 2
}
# unserve_drives : ends it, and prints what it has said, which is $OUT/serve.log then
unserve_drives() {
    local rc=0
    unserve_inside drives target > "$OUT/serve.log" || rc=$?
    cat "$OUT/serve.log"
    return "$rc"
}
# served NSID : the drive, and the drive's namespace, that SERVED has for one of the target
served() { local what=${SERVED[$1 - 1]}; echo "${what%%[, ]*}"; }
# refused_drives WHY ARGS... : our target says so and ends
refused_drives() {
    local why=$1
    shift
    if serve_drives "$@" > "$OUT/refused" 2>&1; then echo "it was not refused"; return 1; fi
    cat "$OUT/refused"
    grep -q -F -e "$why" "$OUT/refused"
}
# kernel_rdma, software_rdma : from now on the guest has the kernel's rdma_rxe, or none, which takes that no process has used it
kernel_rdma() { in_guest drives '[ -e /sys/class/infiniband/rxe0 ] || { modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0; }'; }
software_rdma() {
    in_guest drives '[ -e /sys/class/infiniband/rxe0 ] || exit 0
        p=$(cat /tmp/target.pid) && kill $p; while [ -e /proc/$p/exe ]; do sleep 0.1; done
        rdma link delete rxe0 && rmmod rdma_rxe'
}

# writes_drive NSID : random data of 4 MiB, read back, stand on the medium
writes_drive() {
    head -c 4M /dev/urandom > "$OUT/data"
    ours copy "$OUT/data" "rdma://$DRIVES/$NQN?nsid=$1" --verify && cmp -n $((4 << 20)) "$OUT/data" "$(medium "$(served "$1")")"
}
# buffer DRIVE : what is in its memory buffer, as QEMU has it, is $OUT/DRIVE
buffer() {
    local base
    base=$(in_guest drives "sed -n '3s/ .*//p' /sys/bus/pci/devices/$1/resource") &&
        [ -z "$(vm_monitor drives "pmemsave $base 0x1000000 \"$OUT/$1\"")" ] && [ "$(stat -c %s "$OUT/$1")" = $((16 << 20)) ]
}
# passes_through NSID : pages of what was written just now stand in the memory buffer where they should, and in no other; nor does what the
# admin queue carries
passes_through() {
    local drive drives=("$CMB_DRIVE" "$LEGACY_DRIVE" "$SWITCH_CMB" "$PAIR_CMB")
    for drive in "${drives[@]}"; do buffer "$drive" || return 1; done
    python3 - "$OUT" "${SERVED[$1 - 1]#* }" "$NQN" "${drives[@]}" << 'END'
import sys
out, where, nqn, *drives = sys.argv[1:]
def pages(content): return {content[i:i + 4096] for i in range(0, len(content), 4096)}
data, right = pages(open(out + "/data", "rb").read()), True
for drive in drives:
    buffer = open(out + "/" + drive, "rb").read()
    found = len(data & pages(buffer))
    print(found, "pages in the buffer of", drive, *["and the NQN"] * (nqn.encode() in buffer))
    right &= (found > 0) == (drive == where) and nqn.encode() not in buffer
sys.exit(not right)
END
}
# commands_in_buffer NSID : the commands that wrote the data of writes_drive, all of its blocks, stand in the drive's memory buffer if
# its submission queues are to be there, else none does; so long as the buffer is not used for data as well
commands_in_buffer() {
    local served=${SERVED[$1 - 1]} drive blocks
    drive=${served%%/*}
    buffer "$drive" || return 1
    blocks=$(python3 - "$OUT/$drive" "${served:${#drive} + 1:1}" << 'END'
import struct, sys
buffer, nsid, found = open(sys.argv[1], "rb").read(), int(sys.argv[2]), set()
for at in range(0, len(buffer), 64):
    opcode, flags, _, ns = struct.unpack_from("<BBHI", buffer, at)
    address, _, lba, count = struct.unpack_from("<QQQH", buffer, at + 24)
    if (opcode, flags & 3, ns) == (1, 0, nsid) and address and lba + count < 8192:
        found.update(range(lba, lba + count + 1))
print(len(found))
END
    )
    echo "commands for $blocks of 8192 blocks in the buffer of $drive"
    if [[ "$served" = *use_cmb_sqs=1* ]]; then [ "$blocks" = 8192 ]; else [ "$blocks" = 0 ]; fi
}
# queues_told : the target says where the queues of both drives are, two of each namespace that has them in the buffer, and misses no room
queues_told() {
    local drive
    for drive in "$CMB_DRIVE, namespace 1" "$LEGACY_DRIVE, namespace 3"; do
        [ "$(grep -c "^nvmf: info: drive $drive: submission queue [0-9]* is in the drive's memory buffer" "$OUT/serve.log")" = 2 ] || { echo "$drive"; return 1; }
    done
    [ "$(grep -c 'submission queue' "$OUT/serve.log")" = 4 ]
}
# benches NSID BLOCK-SIZE DEPTH SIZE : blocks that can be checked
benches() {
    ours bench -a "$DRIVES" -n "$NQN" -N "$1" --rw randrw --bs "$2" --iodepth "$3" --size "$4" --verify crc32c
}
# as_on_medium NSID : our host reads what is on the medium
as_on_medium() {
    ours copy "rdma://$DRIVES/$NQN?nsid=$1" "$OUT/back" --size 8M && cmp -n $((8 << 20)) "$OUT/back" "$(medium "$(served "$1")")"
}
# kernel_as_on_medium NSID : so does the kernel's
kernel_as_on_medium() {
    local sum
    sum=$(head -c 8M "$(medium "$(served "$1")")" | sha256sum) && contains "$sum" guest "dd if=${DEV%1}$1 bs=1M count=8 iflag=direct status=none | sha256sum"
}
# counted WHAT... : what the target says in the end of peer memory
counted() { local what; for what; do grep -E "^peer memory:.*$what" "$OUT/serve.log" || { grep '^peer memory' "$OUT/serve.log"; return 1; }; done; }

case_pcie_serve() {
    # a drive's namespace, and what of peer memory its data passes through over software RDMA: none, or a drive's; NSIDs of the target count from 1
    local nsid SERVED=("$CMB_DRIVE/1,p2pmem=0,use_cmb_sqs=1 none" "$CMB_DRIVE/2,p2pmem=1 none" "$CMB_DRIVE/3,p2pmem=$CMB_DRIVE $CMB_DRIVE"
        "$LEGACY_DRIVE/1,p2pmem=0 none" "$LEGACY_DRIVE/2,p2pmem=1 none" "$LEGACY_DRIVE/3,p2pmem=$LEGACY_DRIVE,use_cmb_sqs=1 $LEGACY_DRIVE"
        "$SWITCH_PLAIN,bs=4096,p2pmem=$SWITCH_CMB $SWITCH_CMB")
    drives_guest
    check "a drive that does not reach another's memory buffer is not given it" refused_drives 'is not known to route between them' \
        --ns "pcie:$PLAIN_DRIVE,p2pmem=$CMB_DRIVE" --ns "pcie:$CMB_DRIVE/1"
    check "a drive without a memory buffer has no submission queues there" refused_drives 'has no memory buffer that can be used' \
        --ns "pcie:$PLAIN_DRIVE,use_cmb_sqs=1"
    check "a target of all drives over the kernel's rdma_rxe" eval 'kernel_rdma && serve_all'
    for nsid in 1 3 6 7; do
        check "what our host writes to ${SERVED[nsid - 1]% *} is on the medium" writes_drive "$nsid"
        [ "$nsid" = 7 ] || check "its commands are in the drive's memory buffer if its queues are" commands_in_buffer "$nsid"
    done
    check "the target ends" unserve_drives
    # The guest's rdma_rxe cannot register a drive's memory buffer.
    check "none of the data passed through peer memory" counted ' 0 in 0 buffers, lost 0; .*not selected [1-9]'

    check "a target of all drives over software RDMA" eval 'software_rdma && serve_all'
    for nsid in "${!SERVED[@]}"; do
        nsid=$((nsid + 1))
        check "what our host writes to ${SERVED[nsid - 1]% *} is on the medium" writes_drive "$nsid"
        check "it passed through the memory buffer of: ${SERVED[nsid - 1]#* }" passes_through "$nsid"
    done
    for nsid in 1 6; do
        check "nvmf bench --verify of ${SERVED[nsid - 1]% *}, 4 KiB at depth 1 and 1 MiB at depth 32" eval "benches $nsid 4k 1 160k && benches $nsid 1M 32 16M"
        check "our host reads what is on the medium" as_on_medium "$nsid"
    done
    for nsid in 3 7; do
        check "nvmf bench --verify of ${SERVED[nsid - 1]% *}, 4 KiB at depth 32 and 1 MiB at depth 1" eval "benches $nsid 4k 32 1M && benches $nsid 1M 1 4M"
        check "our host reads what is on the medium" as_on_medium "$nsid"
    done
    host_connects "$DRIVES"
    for nsid in 1 3 6 7; do
        check "the kernel's host: fio with verify, 4 KiB to 128 KiB, depth 8, on ${SERVED[nsid - 1]% *}" fio_in_guest "${DEV%1}$nsid" --size=4M
        check "the kernel's host reads what is on the medium" kernel_as_on_medium "$nsid"
    done
    for nsid in 1 3; do
        check "the kernel's host: 4 KiB at depth 1 and 1 MiB at depth 32 on ${SERVED[nsid - 1]% *}" \
            eval "fio_in_guest ${DEV%1}$nsid --size=160k --bsrange=4k-4k --iodepth=1 && fio_in_guest ${DEV%1}$nsid --size=8M --bsrange=1M-1M --iodepth=32"
        check "the kernel's host reads what is on the medium" kernel_as_on_medium "$nsid"
    done
    host_disconnects
    check "the target ends" unserve_drives
    check "it has said where the submission queues were" queues_told
    check "bytes passed through peer memory, none were lost" counted ' [1-9][^ ]* in [1-9][0-9]* buffers, lost 0;' 'vanished 0'
    check "some did not: none could be selected, the buffers were in use, or they came in a capsule" \
        counted 'not selected [1-9]' 'exhausted [1-9]' 'in capsule [1-9]'
    check "the IOMMU refused no access" no_faults
}
