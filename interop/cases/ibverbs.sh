# shellcheck shell=bash
# Our provider over libibverbs and librdmacm, in the guest on rdma_rxe.

rdma_contract() {
    local classes=/top/ibverbs/build rc
    GUEST_ENV="NVMF4J_RDMA_ADDRESS=$GUEST NVMF4J_RDMA_NOBODY=$NET4.99" GUEST_TIMEOUT=900 \
        guest_java "$classes/classes $classes/test-classes $classes/test-lib/*.jar" org.nvmf4j.ibverbs.ContractMain > "$OUT/contract.log" 2>&1
    rc=$?
    [ "$rc" != 77 ] || { log "skip  the emulator crashed the JVM three times"; return 0; }
    grep -v -E '^(SUCCESSFUL|ABORTED|SKIPPED|    Assumption)' "$OUT/contract.log"
    return "$rc"
}
rdma_resources() { guest 'rdma resource show'; }
nothing_left() { [ "$(rdma_resources)" = "$1" ] || { echo "before: $1"; echo "after:"; rdma_resources; return 1; }; }

case_ibverbs_contract() {
    local before
    check "the tests are built" sh -c "cd '$TOP' && ./mvnw -q -ntp -Dquick -DskipTests -pl ibverbs -am package"
    check "MTU 1500 on both ends" set_mtu 1500
    before=$(rdma_resources)
    check "the contract of RDMA providers" rdma_contract
    check "no resource is left behind" nothing_left "$before"
}
