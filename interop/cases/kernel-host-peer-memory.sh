# shellcheck shell=bash
# The kernel as host of a namespace whose data passes through peer memory: the BAR of a made-up NVMe device.

PEER=0000:03:00.0

# make_peer : $SYSFS, a machine with a root port and the device below it, whose BAR is $BAR, a file of zeros
make_peer() {
    SYSFS=$OUT/sys
    BAR=$SYSFS/bus/pci/devices/$PEER/resource2
    rm -rf "$SYSFS"
    pci_function devices/pci0000:00/0000:00:01.0 0x060400
    pci_function devices/pci0000:00/0000:00:01.0/$PEER 0x010802
    truncate -s 16M "$BAR"
}
# pci_function PATH CLASS
pci_function() {
    mkdir -p "$SYSFS/$1" "$SYSFS/bus/pci/devices"
    echo "$2" > "$SYSFS/$1/class"
    echo 0x1b36 > "$SYSFS/$1/vendor"
    echo 0x0010 > "$SYSFS/$1/device"
    truncate -s 64 "$SYSFS/$1/config"
    ln -s "../../../$1" "$SYSFS/bus/pci/devices/"
}
# holds FILE : its bytes stand somewhere in the BAR
holds() { python3 -c 'import sys; sys.exit(open(sys.argv[2], "rb").read() not in open(sys.argv[1], "rb").read())' "$BAR" "$1"; }

case_kernel_host_peer_memory() {
    local pcap=$OUT/kernel-host-peer-memory.pcap picked="of controller .* of $NQN, host .*:"
    make_peer
    check "MTU 4200 on both ends" set_mtu 4200
    check "nvmf serve is ready on $US" serve -v --listen "$US" --pcap "$pcap" --sysfs "$SYSFS" --allow-raw-bar "$PEER/resource2" \
        --ns "mem:64M,p2pmem=$PEER" --ns mem:16M,p2pmem=1
    host_connects "$US"
    check "the log says where namespace 1 passes: the BAR" grep -q "namespace 1 $picked peer memory $PEER, as chosen" "$OUT/serve.log"
    check "the log says where namespace 2 passes: system memory, the CPU moves it" grep -q "namespace 2 $picked system memory: .* with the CPU" "$OUT/serve.log"
    check "fio with verify, 4 KiB to 128 KiB, depth 8" fio_in_guest "$DEV" --size=8M
    # this text is that of pat in the guest
    seq 7 999999999 | head -c 65536 > "$OUT/block"
    check "a block of 64 KiB, there and back" guest "pat 65536 7 > /tmp/block && dd if=/tmp/block of=$DEV bs=64k count=1 oflag=direct status=none &&
        dd if=$DEV bs=64k count=1 iflag=direct status=none | cmp - /tmp/block"
    check "the BAR holds that block" holds "$OUT/block"
    cp "$BAR" "$OUT/bar"
    check "fio with verify on namespace 2" fio_in_guest "${DEV%1}2" --size=4M
    check "nothing of namespace 2 passed through the BAR" cmp "$BAR" "$OUT/bar"
    host_disconnects
    check "nvmf serve stops cleanly" unserve
    check "bytes passed through peer memory, none were lost" grep -q "^peer memory: [1-9].* in [1-9][0-9]* buffers, lost 0;" "$OUT/serve.log"
    right_icrcs "$pcap"
}
