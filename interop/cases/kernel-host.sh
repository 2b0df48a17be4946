# shellcheck shell=bash
# The kernel as host, nvmf serve as its target.

# host_connects ADDRESS : discover, connect with two I/O queues
host_connects() {
    local addr=$1
    check "nvme discover names our subsystem" guest "nvme discover -t rdma -a $addr -s 4420 > /tmp/d || exit 1; grep -q $NQN /tmp/d"
    check "nvme connect, two I/O queues" guest "nvme connect -t rdma -a $addr -s 4420 -n $NQN -i 2 || exit 1
        for i in \$(seq 50); do [ -b $DEV ] && break; sleep 0.1; done; [ -b $DEV ] && [ \$(cat /sys/class/nvme/nvme0/queue_count) = 3 ]"
    check "nvme id-ctrl and id-ns" guest "nvme id-ctrl /dev/nvme0 | grep -q $NQN && nvme id-ns $DEV | grep -q nsze"
}
# fio_in_guest DEVICE OPTION... : random writes of all sizes, each read again and compared; says why if that fails
fio_in_guest() {
    local dev=$1
    shift
    guest "fio --name=v --filename=$dev --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite --bsrange=4k-128k --size=16M \
        --verify=crc32c --do_verify=1 --verify_fatal=1 --randseed=7 $* > /tmp/fio 2>&1 || { tail -20 /tmp/fio; exit 1; }; grep -q 'err= 0' /tmp/fio"
}
host_disconnects() {
    check "nvme disconnect" guest "nvme disconnect -n $NQN && [ ! -e $DEV ]"
    check "no warning in the guest's log" quiet_dmesg
}
# right_icrcs PCAP : and the capture goes, unless it is to be kept
right_icrcs() {
    check "nvmf decode finds every ICRC right" "$TOP/nvmf" decode "$1"
    check "an independent check finds every ICRC right" python3 "$TOP/interop/icrc_check.py" "$1"
    [ -n "$KEEP" ] || rm -f "$1"
}

# kernel_host MTU ADDRESS
kernel_host() {
    local mtu=$1 addr=$2 pcap=$OUT/kernel-host-$1.pcap
    check "MTU $mtu on both ends" set_mtu "$mtu"
    check "nvmf serve is ready on $addr" serve --listen "$addr" --ns mem:64M --pcap "$pcap"
    host_connects "$addr"
    check "fio with verify, 4 KiB to 128 KiB, depth 8" fio_in_guest "$DEV"
    host_disconnects
    check "nvmf serve stops cleanly" unserve
    right_icrcs "$pcap"
}
case_kernel_host_mtu1024() { kernel_host 1500 "$US"; }
case_kernel_host_mtu4096() { kernel_host 4200 "$US"; }
case_kernel_host_ipv6() { kernel_host 1500 "$US6"; }
