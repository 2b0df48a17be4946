# shellcheck shell=bash
# NVMe controllers of our own, through VFIO, in a guest of their own with an IOMMU, which the cases pcie_* share: one with a memory buffer that
# CMBMSC controls, one without, which can be made slow, and one whose buffer is at its BAR's address whatever CMBMSC says (legacy-cmb=on);
CMB_DRIVE=0000:00:04.0 PLAIN_DRIVE=0000:00:05.0 LEGACY_DRIVE=0000:00:06.0
# two below one switch that can be unplugged, one with a memory buffer, and one without, which may use that buffer;
SWITCH_CMB=0000:03:00.0 SWITCH_PLAIN=0000:04:00.0
# and two there that are one device, and one IOMMU group.
PAIR_CMB=0000:05:00.0 PAIR_PLAIN=0000:05:00.1
ALL_DRIVES="$CMB_DRIVE $PLAIN_DRIVE $LEGACY_DRIVE $SWITCH_CMB $SWITCH_PLAIN $PAIR_CMB $PAIR_PLAIN"
DRIVES=$NET4.4

# qemu_id DRIVE [N] : of a drive in QEMU, or of the medium of its namespace
qemu_id() { echo "d${1//:/.}${2:+-$2}"; }
# qemu_drive DRIVE : its description for QEMU
qemu_drive() {
    local where
    case $1 in
        "$CMB_DRIVE") where=addr=4,cmb_size_mb=16,legacy-cmb=off ;;
        "$PLAIN_DRIVE") where=addr=5 ;;
        "$LEGACY_DRIVE") where=addr=6,cmb_size_mb=16,legacy-cmb=on ;;
        "$SWITCH_CMB") where=bus=down0,cmb_size_mb=16 ;;
        "$SWITCH_PLAIN") where=bus=down1 ;;
        "$PAIR_CMB") where=bus=down2,addr=0.0,multifunction=on,cmb_size_mb=16 ;;
        "$PAIR_PLAIN") where=bus=down2,addr=0.1 ;;
    esac
    echo "nvme,id=$(qemu_id "$1"),serial=$1,drive=$(qemu_id "$1" 1),$where"
}
# medium DRIVE[/N] : the file of a namespace
medium() {
    local drive=${1%/1}
    echo "$RUN/${drive/\//-}"
}
# drives_up : the guest "drives", in which the kernel has the drives; the two of the first three that have memory buffers have three namespaces
drives_up() {
    local drive n arguments=(-device "intel-iommu,intremap=on" -object throttle-group,id=slow
        -device pcie-root-port,id=rp,addr=7,chassis=1 -device x3130-upstream,bus=rp,id=up
        -device xio3130-downstream,bus=up,id=down0,chassis=2,slot=0 -device xio3130-downstream,bus=up,id=down1,chassis=2,slot=1
        -device xio3130-downstream,bus=up,id=down2,chassis=2,slot=2)
    build_inside || return 1
    for drive in $ALL_DRIVES; do
        for n in 1 2 3; do
            [ "$n" = 1 ] || [ "$drive" = "$CMB_DRIVE" ] || [ "$drive" = "$LEGACY_DRIVE" ] || continue
            truncate -s 32M "$(medium "$drive/$n")"
            if [ "$drive" = "$PLAIN_DRIVE" ]; then
                arguments+=(-blockdev "driver=throttle,throttle-group=slow,node-name=$(qemu_id "$drive" "$n"),file.driver=raw,file.file.driver=file,file.file.filename=$(medium "$drive/$n")")
            else
                arguments+=(-blockdev "driver=raw,node-name=$(qemu_id "$drive" "$n"),file.driver=file,file.filename=$(medium "$drive/$n")")
            fi
            if [ "$n" = 1 ]; then
                arguments+=(-device "$(qemu_drive "$drive")")
            else
                arguments+=(-device "nvme-ns,bus=$(qemu_id "$drive"),drive=$(qemu_id "$drive" "$n"),nsid=$n")
            fi
        done
    done
    SHARES="jdk=$JAVA_HOME top=$TOP" MEM=768 SMP=1 KARGS=intel_iommu=on vm_start drives 4 "${arguments[@]}"
    vm_ready drives
    mount_shares drives && in_guest drives 'modprobe nvme || exit 1
        for i in $(seq 50); do [ -b /dev/nvme6n1 ] && exit 0; sleep 0.1; done; exit 1'
}
lists_drives() {
    local drive
    inside drives nvmf pcie list > "$OUT/pcie-list.log"
    cat "$OUT/pcie-list.log"
    for drive in $ALL_DRIVES; do
        grep -E "^$drive +nvme +[0-9]+ .* nvme[0-6]n1(, |\$)" "$OUT/pcie-list.log" || return 1
    done
}
# binds_drives DRIVE... : runs the commands that nvmf pcie list prints for them
binds_drives() {
    local drive
    inside drives nvmf pcie list > "$OUT/pcie-list.log" || { cat "$OUT/pcie-list.log"; return 1; }
    for drive; do
        in_guest drives "set -e
            $(sed -n "/^to give $drive /,/^\$/s/^  //p" "$OUT/pcie-list.log")
            readlink /sys/bus/pci/devices/$drive/driver | grep vfio-pci" || return 1
    done
}
# drives_guest : that guest with all drives bound to vfio-pci, unless it runs
drives_guest() {
    [ -z "${VM_PIDS[drives]:-}" ] || return 0
    check "a guest with an IOMMU and seven drives" drives_up
    check "nvmf pcie list shows drivers, groups and block devices" lists_drives
    # shellcheck disable=SC2086
    check "the commands that it prints bind the drives to vfio-pci" binds_drives $ALL_DRIVES
}
# drive_main WORDS... : see DriveMain
drive_main() { GUEST_TIMEOUT=300 inside drives main org.nvmf4j.pcie.vfio.DriveMain "$@"; }
# killed_under_io DRIVE : kill -9 while it reads and writes
killed_under_io() {
    jvm_takes drives target "$(quoted main org.nvmf4j.pcie.vfio.DriveMain busy "$1")" && in_guest drives "cd /tmp
        for i in \$(seq 900); do grep -q ^busy target.log && break; kill -0 \$(cat target.pid) || break; sleep 0.1; done
        kill -9 \$(cat target.pid); cat target.log; grep -q ^busy target.log"
}
# medium_holds DRIVE PLACE BYTES [OF] : the pattern of a place of the medium, or of another one, stands there
medium_holds() {
    python3 - "$RUN/$1" "$2" "$3" "${4:-$2}" << 'EOF'
import struct, sys
name, place, size, of = sys.argv[1], *map(int, sys.argv[2:])
want = bytes(b ^ 0xa5 for b in struct.pack("<%dQ" % (size // 8), *range(of, of + size, 8)))
with open(name, "rb") as medium:
    medium.seek(place)
    sys.exit(medium.read(size) != want)
EOF
}
# media_hold DRIVE : all that DriveMain check has written to it and to the second drive
media_hold() {
    local at=0 bytes
    for bytes in 4096 8192 65536 131072 1048576; do
        medium_holds "$1" "$at" "$bytes" && medium_holds "$1" $((at + 1048576)) "$bytes" && medium_holds "$PLAIN_DRIVE" "$at" "$bytes" ||
            { echo "$bytes bytes at $at"; return 1; }
        at=$((at + 2097152))
    done
    medium_holds "$PLAIN_DRIVE" 16777216 1048576 8388608 && medium_holds "$1" 20971520 65536 && medium_holds "$1" 22020096 65536
}
# blank DRIVE... : zeros on the media, beneath the running drives
blank() { local d; for d; do dd if=/dev/zero of="$RUN/$d" bs=1M count=32 conv=notrunc status=none; done; }
# no_faults : the IOMMU refused no access
no_faults() { ! in_guest drives 'dmesg | grep DMAR: | grep -i fault'; }

case_pcie_drives() {
    drives_guest
    check "data in host memory and in a memory buffer, by PRPs and SGLs, of two drives; interrupts; function reset" drive_main check "$CMB_DRIVE" "$PLAIN_DRIVE"
    check "the media hold that data" media_hold "$CMB_DRIVE"
    check "kill -9 under I/O" killed_under_io "$CMB_DRIVE"
    blank "$CMB_DRIVE" "$PLAIN_DRIVE"
    check "the same again after it" drive_main check "$CMB_DRIVE" "$PLAIN_DRIVE"
    check "the media hold that data again" media_hold "$CMB_DRIVE"
    blank "$PLAIN_DRIVE"
    check "the same with a buffer that CMBMSC does not control" drive_main check "$LEGACY_DRIVE" "$PLAIN_DRIVE"
    check "the media hold that data too" media_hold "$LEGACY_DRIVE"
    check "the IOMMU refused no access" no_faults
}
