# shellcheck shell=bash
# Our own programs in a guest that sees the JDK as /jdk and this repository as /top: in "jvm", on the kernel's RDMA devices, and in "drives"
# (cases/pcie.sh). A JVM takes ten seconds and more to start there. So a guest has one for commands, which come one after another, and
# one for our target; they start with the first that is to be done, and stay.
# Each JVM stays on one CPU: where two virtual ones share compiled code, the emulator of QEMU 7.2 crashes it now and then (SIGILL or
# SIGSEGV in it, status 134). Such a crash is tried again, and whoever sees three of them gets 77.

# build_inside : what runs there
build_inside() { (cd "$TOP" && ./mvnw -q -ntp -Dquick -DskipTests -pl systemtest -am package); }
# jvm_guest_up : starts the guest "jvm", unless it runs; from then on the kernel's guest and this one are on one wire
jvm_guest_up() {
    [ -z "${VM_PIDS[jvm]:-}" ] || return 0
    build_inside || return 1
    SHARES="jdk=$JAVA_HOME top=$TOP" MEM=768 vm_start jvm 3
    vm_ready jvm
    mount_shares jvm && in_guest jvm 'dmesg -c > /dev/null'
}
guest_down() { [ -z "${VM_PIDS[$1]:-}" ] || vm_stop "$1"; }

# java_command CPU MAIN ARGS... : for the guest's shell, on its CPU "first" or "last"; the JVM takes the shell's place
java_command() {
    local mask=1
    [ "$1" = first ] || mask="\$(printf %x \$((1 << \$(nproc) - 1)))"
    shift
    echo "cp=/top/systemtest/build/test-classes:/top/ibverbs/build/test-classes:/top/pcie/build/test-classes
        for j in /top/systemtest/build/test-lib/*.jar; do cp=\$cp:\$j; done
        export NVMF4J_RDMA_ADDRESS=$JVM NVMF4J_RDMA_NOBODY=$NET4.99
        exec taskset $mask /jdk/bin/java --enable-native-access=ALL-UNNAMED -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx96m \
            -Djava.util.logging.config.class=org.nvmf4j.cli.OneLineLogging -cp \$cp $*"
}
quoted() { local w; for w; do printf " '%s'" "${w//\'/\'\\\'\'}"; done; }

# jvm_takes GUEST JVM WORDS : hands a command, in words for the guest's shell, to its JVM "commands" or "target", which is started unless it
# waits for one; what the command says is in /tmp/JVM.log, its status when it has ended in /tmp/JVM.status
jvm_takes() {
    local guest=$1 jvm=$2 cpu=first
    [ "$jvm" = commands ] || cpu=last
    in_guest "$guest" "cd /tmp && kill -0 \$(cat $jvm.pid) 2> /dev/null && [ -e $jvm.status ] && exit 0
        kill -9 \$(cat $jvm.pid) 2> /dev/null; rm -f $jvm.* hs_err* && mkfifo $jvm.pipe || exit 1
        ($(java_command "$cpu" org.nvmf4j.systemtest.GuestCommands "$jvm.pipe" "$jvm.status")) >> $jvm.log 2>&1 < /dev/null & echo \$! > $jvm.pid" &&
        in_guest "$guest" "cd /tmp && rm -f $jvm.status && : > $jvm.log && { printf '%s\\037' $3; echo; } > $jvm.pipe"
}
# inside GUEST nvmf|test|main WORDS... : a command in the guest; prints what it prints, and gives its status
inside() {
    local guest=$1 attempt rc=0
    shift
    for attempt in 1 2 3; do
        jvm_takes "$guest" commands "$(quoted "$@")"
        in_guest "$guest" "cd /tmp; while [ ! -e commands.status ]; do kill -0 \$(cat commands.pid) 2> /dev/null || { cat commands.log; exit 134; }; sleep 0.1; done
            cat commands.log; exit \$(cat commands.status)"
        rc=$?
        [ "$rc" = 134 ] && in_guest "$guest" 'grep -E "^# +SIG(ILL|SEGV)" /tmp/hs_err*' || return "$rc"
        log "again: the emulator crashed the JVM"
    done
    return 77
}
# serve_inside GUEST JVM ARGS... : our target in the guest until unserve_inside; /tmp/JVM.log there has its output
serve_inside() {
    local guest=$1 jvm=$2
    shift 2
    in_guest "$guest" "sleep 86400 > /dev/null 2>&1 < /dev/null & echo \$! > /tmp/$jvm-parent" &&
        jvm_takes "$guest" "$jvm" "nvmf serve --parent \$(cat $jvm-parent) $(quoted --nqn "$NQN" "$@")" &&
        in_guest "$guest" "cd /tmp; for i in \$(seq 600); do
                grep -q ^ready $jvm.log && exit 0
                [ ! -e $jvm.status ] && kill -0 \$(cat $jvm.pid) || break
                sleep 0.1
            done; cat $jvm.log; exit 1"
}
# unserve_inside GUEST JVM : ends it, as if its parent had, and prints what it has said
unserve_inside() {
    in_guest "$1" "cd /tmp; kill \$(cat $2-parent); for i in \$(seq 200); do [ -e $2.status ] && break; sleep 0.1; done
        cat $2.log; [ \"\$(cat $2.status)\" = 0 ]"
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
