# shellcheck shell=bash
# nvmf serve --ns pcie:BDF in the guest with drives (pcie.sh); our host is on the other side of the wire, and what it writes has to be on
# the media, whose files are out here.

DRIVES=$NET4.4

# serve_drives ARGS... : our target in that guest, in the background, until unserve_drives; /tmp/serve.log there has its output
serve_drives() {
    in_guest drives "cd /tmp && ($(drives_java '/top/cli/build/app/lib/*' org.nvmf4j.cli.Main serve -v --listen "$DRIVES" --nqn "$NQN" "$@")) > /tmp/serve.log 2>&1 < /dev/null & echo \$! > /tmp/serve.pid
        for i in \$(seq 600); do grep -q ^ready /tmp/serve.log && exit 0; kill -0 \$(cat /tmp/serve.pid) || break; sleep 0.1; done
        cat /tmp/serve.log; exit 1"
}
# unserve_drives : stops it, and prints what it has said
unserve_drives() {
    in_guest drives 'kill $(cat /tmp/serve.pid); for i in $(seq 200); do [ -e /proc/$(cat /tmp/serve.pid) ] || break; sleep 0.1; done
        cat /tmp/serve.log; [ ! -e /proc/$(cat /tmp/serve.pid) ]'
}
# writes_drive DRIVE : random data of 6 MiB, read back by another connection, stand on the medium
writes_drive() {
    head -c 6M /dev/urandom > "$OUT/data"
    ours copy "$OUT/data" "rdma://$DRIVES/$NQN" --verify && ours copy "rdma://$DRIVES/$NQN" "$OUT/back" --size 6M || return 1
    cmp "$OUT/data" "$OUT/back" && cmp -n $((6 << 20)) "$OUT/data" "$RUN/$1"
}
# ends_without_peer_memory : stops the target, which says, if it was to use peer memory, that no data passed through it
ends_without_peer_memory() {
    unserve_drives > "$OUT/serve.log"
    local rc=$?
    cat "$OUT/serve.log"
    [ "$rc" = 0 ] && ! grep '^peer memory' "$OUT/serve.log" | grep -v ' in 0 buffers,'
}

case_pcie_serve() {
    local spec
    check "a guest with an IOMMU and three drives" drives_up
    check "the drives are bound to vfio-pci" takes_drives
    # The guest's rdma_rxe cannot register a drive's memory buffer: data then passes through host memory.
    for spec in "$PLAIN_DRIVE" "$CMB_DRIVE,p2pmem=0" "$CMB_DRIVE,p2pmem=1" "$CMB_DRIVE,p2pmem=$CMB_DRIVE" \
        "$LEGACY_DRIVE,p2pmem=$LEGACY_DRIVE" "$PLAIN_DRIVE/1,bs=4096"; do
        check "a target with pcie:$spec" serve_drives --ns "pcie:$spec" --inline-data-size 4096 --lanes 2
        check "what our host writes is read again, and on the medium" writes_drive "${spec:0:12}"
        check "the target ends, and none of the data passed through peer memory" ends_without_peer_memory
    done
    check "the IOMMU refused no access" no_faults
    [ -z "$KEEP" ] || cp "$RUN/drives.console" "$OUT/"
    vm_stop drives
}
