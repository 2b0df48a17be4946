# shellcheck shell=bash
# The lab: Linux guests under QEMU (software emulation) with the kernel's nvme-rdma and nvmet-rdma over
# rdma_rxe, on a bridge in a network namespace of its own. Sourced by ../run and build-guest.
#
# Settings (environment variables, all optional):
#   WORK          folder for what is generated and kept between runs  (default interop/work)
#   MEM SMP       a guest's memory in MiB, and CPUs                   (default 384, 2)
#   QEMU ACCEL    QEMU binary and accelerator                         (default qemu-system-x86_64, tcg,thread=multi)
#   NET4 NET6     first three octets and prefix of the lab's net      (default 10.77.0, fd77::)
#   BOOT_TIMEOUT  seconds until the guest must be up                  (default 180)
#   SHARES        TAG=FOLDER words: folders that a guest can mount read-only by 9p (default none)
#   KARGS         more arguments of a guest's kernel                  (default none)

LAB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${WORK:=$LAB/../work}"
mkdir -p "$WORK"
WORK=$(cd "$WORK" && pwd)
KIMG=$WORK/kernel
: "${MEM:=384}"
: "${SMP:=2}"
: "${QEMU:=qemu-system-x86_64}"
: "${ACCEL:=tcg,thread=multi}"
: "${NET4:=10.77.0}"
: "${NET6:=fd77::}"
: "${BOOT_TIMEOUT:=180}"
: "${SHARES:=}"
: "${KARGS:=}"
NS=nvmf-lab-$$
RUN=$WORK/run-$$

log() { printf '[%s] %s\n' "$(date +%T)" "$*" >&2; }
die() { log "ERROR: $*"; exit 1; }

find_kver() {
    local d
    for d in "$KIMG"/lib/modules/* "$KIMG"/usr/lib/modules/*; do
        [ -d "$d/kernel" ] && KVER=$(basename "$d") && return
    done
    die "no kernel modules under $KIMG: remove $WORK and run again"
}

# ---- network ----------------------------------------------------------------
nsx() { ip netns exec "$NS" "$@"; }

# net_up : the namespace with bridge br0 (NET4.1, NET6 1)
net_up() {
    mkdir -p "$RUN"
    ip netns add "$NS" || die "cannot make a network namespace: root is needed"
    nsx ip link set lo up
    nsx ip link add br0 address 02:77:00:00:00:01 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
    nsx ip addr add "$NET4.1/24" dev br0
    nsx ip -6 addr add "${NET6}1/64" dev br0 nodad
    nsx ip link set br0 up
}
# tap_up NAME : a port of the bridge
tap_up() {
    nsx ip tuntap add "$1" mode tap
    nsx sh -c "echo 1 > /proc/sys/net/ipv6/conf/$1/disable_ipv6"
    nsx ip link set "$1" master br0 up
}

# set_mtu BYTES : on all ends of the wire; rxe follows
set_mtu() {
    local name
    for name in "${!VM_PIDS[@]}"; do
        nsx ip link set "tap-$name" mtu "$1" || return 1
    done
    nsx ip link set br0 mtu "$1" || return 1
    for name in "${!VM_PIDS[@]}"; do
        in_guest "$name" "ip link set eth0 mtu $1" || return 1
    done
}

# ---- guests -----------------------------------------------------------------
declare -A VM_PIDS=()
# vm_start NAME NUMBER [QEMU-ARGUMENT...] : the guest with the addresses NET4.NUMBER and NET6 NUMBER
vm_start() {
    local name=$1 number=$2
    shift 2
    find_kver
    tap_up "tap-$name"
    rm -f "$RUN/$name".* # of a guest before it by that name, which said that it was ready
    local kernel=$WORK/vmlinux
    [ -s "$kernel" ] || kernel=$KIMG/boot/vmlinuz-$KVER
    local shares=() s
    for s in $SHARES; do
        shares+=(-fsdev "local,id=fs-${s%%=*},path=${s#*=},security_model=none,readonly=on,multidevs=remap"
            -device "virtio-9p-pci,fsdev=fs-${s%%=*},mount_tag=${s%%=*}")
    done
    # "ip netns exec" execs QEMU, so $! is QEMU's own pid
    ip netns exec "$NS" "$QEMU" -name "$NS-$name" -machine q35 -accel "$ACCEL" -cpu max -smp "$SMP" -m "$MEM" \
        -nodefaults -no-user-config -display none -no-reboot \
        -serial "file:$RUN/$name.console" -serial "unix:$RUN/$name.sock,server=on,wait=off" -monitor "unix:$RUN/$name.mon,server=on,wait=off" \
        -kernel "$kernel" -initrd "$WORK/initramfs.cpio" \
        -append "console=ttyS0 panic=-1 quiet loglevel=4 mitigations=off no5lvl nokaslr nowatchdog tsc=reliable random.trust_cpu=on lab.name=$name lab.ip=$NET4.$number/24 lab.ip6=${NET6}$number/64 lab.mtu=1500 $KARGS" \
        -netdev "tap,id=n0,ifname=tap-$name,script=no,downscript=no,vhost=off" \
        -device "virtio-net-pci,netdev=n0,mac=02:77:00:00:00:0$number,romfile=" "${shares[@]}" "$@" > "$RUN/$name.qemu" 2>&1 &
    VM_PIDS[$name]=$!
}
# vm_ready NAME : waits until it takes commands
vm_ready() {
    local name=$1 i
    for ((i = 0; i < BOOT_TIMEOUT * 5; i++)); do
        grep -qs '^LAB-READY' "$RUN/$name.console" && return 0
        kill -0 "${VM_PIDS[$name]}" 2>/dev/null || break
        sleep 0.2
    done
    tail -n 30 "$RUN/$name.console" "$RUN/$name.qemu" >&2
    die "the guest '$name' did not come up"
}
# vm_stop NAME
vm_stop() {
    kill "${VM_PIDS[$1]}" 2>/dev/null && wait "${VM_PIDS[$1]}" 2>/dev/null
    unset "VM_PIDS[$1]"
    nsx ip link del "tap-$1" 2>/dev/null
}
# in_guest NAME 'commands' : runs them there, prints their output, gives their exit status
in_guest() { python3 "$LAB/gx.py" --timeout "${GUEST_TIMEOUT:-120}" "$RUN/$1.sock" "$2"; }
# vm_monitor NAME COMMAND : a command of QEMU's monitor; prints what it answers, which is nothing for most if they succeed
vm_monitor() {
    python3 - "$RUN" "$1.mon" "$2" << 'EOF'
import os, re, socket, sys
os.chdir(sys.argv[1])  # a socket's path is short
with socket.socket(socket.AF_UNIX) as monitor:
    monitor.settimeout(60)
    monitor.connect(sys.argv[2])
    def answer():
        text = b""
        while not text.endswith(b"(qemu) "):
            part = monitor.recv(65536)
            if not part:
                sys.exit("QEMU has ended")
            text += part
        return text.decode()
    answer()
    monitor.sendall(sys.argv[3].encode() + b"\n")
    # the terminal's echo of the command comes first
    print(answer().rpartition("\x1b[K")[2].partition("\n")[2].removesuffix("(qemu) "), end="")
EOF
}

# mount_shares NAME : the guest sees the folders of SHARES that are tagged jdk and top as /jdk and /top
mount_shares() {
    in_guest "$1" 'modprobe 9pnet_virtio && modprobe 9p || exit 1
        for t in jdk top; do
            mkdir -p /$t && mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 $t /$t || exit 1
        done'
}

# lab_down : undoes what this run made, nothing else
lab_down() {
    local name
    for name in "${!VM_PIDS[@]}"; do
        vm_stop "$name"
    done
    ip netns del "$NS" 2>/dev/null
    rm -rf "$RUN"
}
