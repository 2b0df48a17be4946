# shellcheck shell=bash
# A second guest, "jvm", in which our own programs run on the kernel's RDMA devices. It sees the JDK as /jdk and this repository as /top.
# Each JVM stays on one CPU: where two virtual ones share compiled code, the emulator of QEMU 7.2 crashes it now and then (SIGILL or
# SIGSEGV in it, status 134). Such a crash is tried again, and whoever sees three of them gets 77.

# jvm_guest_up : starts it, unless it runs; from then on the kernel's guest and this one are on one wire
jvm_guest_up() {
    [ -z "${VM_PIDS[jvm]:-}" ] || return 0
    (cd "$TOP" && ./mvnw -q -ntp -Dquick -DskipTests -pl systemtest -am package) || return 1
    SHARES="jdk=$JAVA_HOME top=$TOP" MEM=768 vm_start jvm 3
    vm_ready jvm
    mount_shares jvm && in_guest jvm 'dmesg -c > /dev/null'
}
jvm_guest_down() { [ -z "${VM_PIDS[jvm]:-}" ] || vm_stop jvm; }

# java_command CPU-MASK MAIN ARGS... : for the guest's shell; the JVM takes the shell's place
java_command() {
    local mask=$1
    shift
    echo "cp=/top/systemtest/build/test-classes:/top/ibverbs/build/test-classes && for j in /top/systemtest/build/test-lib/*.jar; do cp=\$cp:\$j; done
        export NVMF4J_RDMA_ADDRESS=$JVM NVMF4J_RDMA_NOBODY=$NET4.99
        exec taskset $mask /jdk/bin/java --enable-native-access=ALL-UNNAMED -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx96m -cp \$cp $*"
}
quoted() { local w; for w; do printf " '%s'" "${w//\'/\'\\\'\'}"; done; }

# inside nvmf|test WORDS... : a command in the guest, in the JVM that runs all of them; prints what it prints, and gives its status
inside() {
    local attempt rc=0
    for attempt in 1 2 3; do
        in_guest jvm "cd /tmp && kill -0 \$(cat jvm.pid) 2> /dev/null && exit 0
            rm -f commands hs_err* && mkfifo commands || exit 1
            ($(java_command 1 org.nvmf4j.systemtest.GuestCommands commands status)) >> jvm.log 2>&1 < /dev/null & echo \$! > jvm.pid"
        in_guest jvm "cd /tmp && rm -f status && : > jvm.log && { printf '%s\\037' $(quoted "$@"); echo; } > commands || exit 1
            while [ ! -e status ]; do kill -0 \$(cat jvm.pid) 2> /dev/null || { cat jvm.log; exit 134; }; sleep 0.1; done
            cat jvm.log; exit \$(cat status)"
        rc=$?
        [ "$rc" = 134 ] && in_guest jvm 'grep -E "^# +SIG(ILL|SEGV)" /tmp/hs_err*' || return "$rc"
        log "again: the emulator crashed the JVM"
    done
    return 77
}
# serve_inside ARGS... : our target in the guest, in a JVM of its own, until unserve_inside; /tmp/serve.log there has its output
serve_inside() {
    in_guest jvm "cd /tmp && ($(java_command 2 org.nvmf4j.cli.Main serve --nqn "$NQN" "$@")) > /tmp/serve.log 2>&1 < /dev/null & echo \$! > /tmp/serve.pid
        for i in \$(seq 600); do grep -q ^ready /tmp/serve.log && exit 0; kill -0 \$(cat /tmp/serve.pid) || break; sleep 0.1; done
        cat /tmp/serve.log; exit 1"
}
# unserve_inside : stops it; it must say nothing more
unserve_inside() {
    in_guest jvm 'kill $(cat /tmp/serve.pid); for i in $(seq 100); do kill -0 $(cat /tmp/serve.pid) 2> /dev/null || break; sleep 0.1; done
        cat /tmp/serve.log; [ ! -e /proc/$(cat /tmp/serve.pid) ] && [ $(wc -l < /tmp/serve.log) = 1 ]'
}

# rdma_resources : what the programs and the kernels hold on the RDMA devices, but for what they keep for the next time: the kernel its
# pooled completion queues, and librdmacm its context as long as its process lives
rdma_resources() {
    in_guest guest 'rdma resource show | sed "s/ cq [0-9]*//"'
    in_guest jvm 'rdma resource show | sed "s/ ctx [0-9]*//"'
}
# resources_are RESOURCES : the same as then, at once or soon
resources_are() {
    local now i
    for ((i = 0; i < 50; i++)); do
        now=$(rdma_resources)
        [ "$now" = "$1" ] && return 0
        sleep 0.2
    done
    diff <(echo "$1") <(echo "$now")
    return 1
}
