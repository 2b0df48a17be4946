# shellcheck shell=bash
# The kernel as host, nvmf serve as its target.

# kernel_host MTU ADDRESS : discover, connect with two I/O queues, fio with verify, disconnect
kernel_host() {
    local mtu=$1 addr=$2 pcap=$OUT/kernel-host-$1.pcap
    check "MTU $mtu on both ends" set_mtu "$mtu"
    check "nvmf serve is ready on $addr" serve --listen "$addr" --ns mem:64M --pcap "$pcap"
    check "nvme discover names our subsystem" guest "nvme discover -t rdma -a $addr -s 4420 > /tmp/d || exit 1; grep -q $NQN /tmp/d"
    check "nvme connect, two I/O queues" guest "nvme connect -t rdma -a $addr -s 4420 -n $NQN -i 2 || exit 1
        for i in \$(seq 50); do [ -b $DEV ] && break; sleep 0.1; done; [ -b $DEV ] && [ \$(cat /sys/class/nvme/nvme0/queue_count) = 3 ]"
    check "nvme id-ctrl and id-ns" guest "nvme id-ctrl /dev/nvme0 | grep -q $NQN && nvme id-ns $DEV | grep -q nsze"
    check "fio with verify, 4 KiB to 128 KiB, depth 8" guest "fio --name=v --filename=$DEV --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite \
        --bsrange=4k-128k --size=16M --verify=crc32c --do_verify=1 --verify_fatal=1 --randseed=7 > /tmp/fio 2>&1 || { tail -20 /tmp/fio; exit 1; }; grep -q 'err= 0' /tmp/fio"
    check "nvme disconnect" guest "nvme disconnect -n $NQN && [ ! -e $DEV ]"
    check "no warning in the guest's log" quiet_dmesg
    check "nvmf serve stops cleanly" unserve
    check "nvmf decode finds every ICRC right" "$TOP/nvmf" decode "$pcap"
    check "an independent check finds every ICRC right" python3 "$TOP/interop/icrc_check.py" "$pcap"
    [ -n "$KEEP" ] || rm -f "$pcap"
}
case_kernel_host_mtu1024() { kernel_host 1500 "$US"; }
case_kernel_host_mtu4096() { kernel_host 4200 "$US"; }
case_kernel_host_ipv6() { kernel_host 1500 "$US6"; }
