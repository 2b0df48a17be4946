# shellcheck shell=bash
# The kernel as target, our host commands against it.

# kernel_target MTU ADDRESS URL-ADDRESS : discover, id-ctrl, id-ns, copy there and back
kernel_target() {
    local mtu=$1 addr=$2 uri="rdma://$3/$KERNEL_NQN?nsid=1" a=(-t rdma -a "$2" -s 4420)
    check "MTU $mtu on both ends" set_mtu "$mtu"
    check "nvmf discover names the kernel's subsystem" contains "$KERNEL_NQN" ours discover "${a[@]}"
    check "nvmf id-ctrl" contains LABSERIAL0001 ours id-ctrl "${a[@]}" -n "$KERNEL_NQN"
    check "nvmf id-ctrl -o json" contains '"cntlid"' ours id-ctrl "${a[@]}" -n "$KERNEL_NQN" -o json
    check "nvmf list-ns" contains 0x1 ours list-ns "${a[@]}" -n "$KERNEL_NQN"
    check "nvmf id-ns" contains nsze ours id-ns "${a[@]}" -n "$KERNEL_NQN" --namespace-id 1
    seq 1 99999999 | head -c 16777216 > "$OUT/in"
    check "nvmf copy there, verified" ours copy "$OUT/in" "$uri" --verify
    # nvmet goes around the page cache, in which reading ahead has left what was there before
    check "the kernel's medium holds the data" guest "dd if=/dev/nullb0 iflag=direct bs=1M count=16 status=none | sha256sum | grep -q $(sha256sum < "$OUT/in" | cut -d' ' -f1)"
    check "nvmf copy back" ours copy "$uri" "$OUT/out"
    check "what came back is equal" cmp -n 16777216 "$OUT/in" "$OUT/out"
    check "nvmf bench with verify" ours bench "${a[@]}" -n "$KERNEL_NQN" --rw randwrite --bs 4k --iodepth 8 --size 4M --verify crc32c
    check "no warning in the guest's log" quiet_dmesg
    check "the guest holds no connection of ours" guest '[ -z "$(rdma resource show qp type RC 2>/dev/null)" ]'
    rm -f "$OUT/in" "$OUT/out"
}
case_kernel_target_mtu1024() { kernel_target 1500 "$GUEST" "$GUEST"; }
case_kernel_target_mtu4096() { kernel_target 4200 "$GUEST" "$GUEST"; }
case_kernel_target_ipv6() { kernel_target 1500 "$GUEST6" "[$GUEST6]"; }
