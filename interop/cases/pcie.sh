# shellcheck shell=bash
# NVMe controllers of our own, through VFIO, in a guest of their own with an IOMMU: one with a memory buffer that CMBMSC controls, one
# without, and one whose buffer is at its BAR's address whatever CMBMSC says (legacy-cmb=on).

CMB_DRIVE=0000:00:04.0 PLAIN_DRIVE=0000:00:05.0 LEGACY_DRIVE=0000:00:06.0
PCIE_TESTS=/top/pcie/build/test-classes:/top/pcie/build/classes:/top/linux/build/classes:/top/nvme/build/classes:/top/target/build/classes

# drives_up [NAMESPACES [QEMU-ARGUMENT...]] : the guest "drives"; the medium of namespace N of a drive is $RUN/ADDRESS for the first and
# $RUN/ADDRESS-N for others, which drives with a memory buffer alone have
drives_up() {
    local drive address options n namespaces=${1:-1} arguments=(-device "intel-iommu,intremap=on")
    for drive in "$CMB_DRIVE cmb_size_mb=16,legacy-cmb=off" "$PLAIN_DRIVE" "$LEGACY_DRIVE cmb_size_mb=16,legacy-cmb=on"; do
        read -r address options <<< "$drive"
        truncate -s 32M "$RUN/$address"
        arguments+=(-drive "file.filename=$RUN/$address,file.driver=file,driver=raw,if=none,id=d${address:9:1}"
            -device "nvme,id=nvme${address:9:1},addr=${address:9:1},serial=$address,drive=d${address:9:1}${options:+,$options}")
        for ((n = 2; n <= namespaces && ${#options}; n++)); do
            truncate -s 32M "$RUN/$address-$n"
            arguments+=(-drive "file.filename=$RUN/$address-$n,file.driver=file,driver=raw,if=none,id=d${address:9:1}-$n"
                -device "nvme-ns,bus=nvme${address:9:1},drive=d${address:9:1}-$n,nsid=$n")
        done
    done
    shift
    SHARES="jdk=$JAVA_HOME top=$TOP" MEM=512 SMP=1 KARGS=intel_iommu=on vm_start drives 4 "${arguments[@]}" "$@"
    vm_ready drives
    mount_shares drives && in_guest drives 'modprobe nvme || exit 1
        for i in $(seq 50); do [ -b /dev/nvme2n1 ] && exit 0; sleep 0.1; done; exit 1'
}
# drives_java CLASSPATH MAIN WORDS... : for that guest's shell; the JVM takes its place
drives_java() {
    local cp=$1
    shift
    echo "exec /jdk/bin/java --enable-native-access=ALL-UNNAMED -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx96m -cp '$cp' $*"
}
# takes_drives : runs the commands that nvmf pcie list prints
takes_drives() {
    in_guest drives "$(drives_java '/top/cli/build/app/lib/*' org.nvmf4j.cli.Main pcie list)" > "$OUT/pcie-list.log" 2>&1 || { cat "$OUT/pcie-list.log"; return 1; }
    in_guest drives "set -e
        $(grep '^  ' "$OUT/pcie-list.log")
        for d in $CMB_DRIVE $PLAIN_DRIVE $LEGACY_DRIVE; do readlink /sys/bus/pci/devices/\$d/driver | grep vfio-pci; done"
}
lists_drives() {
    local drive
    cat "$OUT/pcie-list.log"
    for drive in "$CMB_DRIVE" "$PLAIN_DRIVE" "$LEGACY_DRIVE"; do
        grep -E "^$drive +nvme +[0-9]+ .* nvme[0-2]n1\$" "$OUT/pcie-list.log" || return 1
    done
}
# drive_main WORDS... : see DriveMain
drive_main() {
    GUEST_TIMEOUT=300 in_guest drives "$(drives_java "$PCIE_TESTS" org.nvmf4j.pcie.vfio.DriveMain "$@")"
}
# killed_under_io DRIVE : kill -9 while it reads and writes
killed_under_io() {
    in_guest drives "($(drives_java "$PCIE_TESTS" org.nvmf4j.pcie.vfio.DriveMain busy "$1")) > /tmp/busy.log 2>&1 < /dev/null & echo \$! > /tmp/busy.pid
        for i in \$(seq 900); do grep -q ^busy /tmp/busy.log && break; kill -0 \$(cat /tmp/busy.pid) || break; sleep 0.1; done
        kill -9 \$(cat /tmp/busy.pid); cat /tmp/busy.log; grep -q ^busy /tmp/busy.log"
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
    check "the tests are built" sh -c "cd '$TOP' && ./mvnw -q -ntp -Dquick -DskipTests -pl pcie -am test-compile"
    check "a guest with an IOMMU and three drives" drives_up
    check "the commands that nvmf pcie list prints bind the drives to vfio-pci" takes_drives
    check "nvmf pcie list shows drivers, groups and block devices" lists_drives
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
    [ -z "$KEEP" ] || cp "$RUN/drives.console" "$OUT/"
    vm_stop drives
}
