# shellcheck shell=bash
# Two drives that are one device and one IOMMU group, and so one process's or nobody's (pcie.sh); the second may use the memory buffer of
# the first.

# to_kernel DRIVE : gives it back to the kernel's driver
to_kernel() {
    in_guest drives "cd /sys/bus/pci && echo > devices/$1/driver_override && echo $1 > devices/$1/driver/unbind && echo $1 > drivers_probe &&
        readlink devices/$1/driver | grep 'nvme\$'"
}
unbinds() { in_guest drives "echo $1 > /sys/bus/pci/drivers/vfio-pci/unbind"; }
# drive_ends DRIVE : unbound under a target that serves both, whose lanes let go of it
drive_ends() { unbinds "$1" && target_says "drive $1 is unplugged or unbound"; }
serve_pair() { serve_drives --ns "pcie:$PAIR_CMB,p2pmem=$PAIR_CMB" --ns "pcie:$PAIR_PLAIN,p2pmem=$PAIR_CMB" --inline-data-size 0; }
# is_refused_second DRIVE : another process does not get it while the first runs
is_refused_second() {
    if serve_inside drives commands --listen 127.0.0.1 --ns "pcie:$1" > "$OUT/refused" 2>&1; then echo "it was not refused"; return 1; fi
    cat "$OUT/refused"
    grep -q 'is in use, by another process or by this one' "$OUT/refused"
}
# one_leaves NSID OTHER : the target has to do without one of the two
one_leaves() {
    check "$(served "$1") is unbound" drive_ends "$(served "$1")"
    check "what our host writes to $(served "$2") is on the medium" writes_drive "$2"
    check "the group stays with the process" is_refused_second "$(served "$2")"
    check "bound to vfio-pci again" binds_drives "$(served "$1")"
    check "the target ends" unserve_drives
}

case_pcie_group() {
    local nsid SERVED=("$PAIR_CMB $PAIR_CMB" "$PAIR_PLAIN $PAIR_CMB")
    drives_guest
    check "one of two drives in a group is the kernel's again" eval "software_rdma && to_kernel $PAIR_PLAIN"
    check "nvmf pcie list says who else is in the group" contains "$PAIR_PLAIN (nvme)" inside drives nvmf pcie list
    check "the other is refused" refused_drives "has functions that other drivers use: $PAIR_PLAIN (nvme); bind these to vfio-pci too" --ns "pcie:$PAIR_CMB"
    check "bound to vfio-pci" binds_drives "$PAIR_PLAIN"
    check "they are two functions of one device: distance 2" contains "the drive $PAIR_PLAIN: distance 2" inside drives nvmf p2p explain \
        --ns "pcie:$PAIR_PLAIN,p2pmem=1" --rdma-device "$PAIR_PLAIN" --allow-raw-bar "$PAIR_CMB/resource2"
    check "a target of both" serve_pair
    for nsid in 1 2; do
        check "what our host writes to ${SERVED[nsid - 1]% *} is on the medium" writes_drive "$nsid"
        check "it passed through the memory buffer of $PAIR_CMB" passes_through "$nsid"
    done
    one_leaves 1 2
    check "a target of both again" serve_pair
    one_leaves 2 1
    check "the IOMMU refused no access" no_faults
}
