# shellcheck shell=bash
# The kernel as host, and a target of our embedding API whose namespaces come and go meanwhile.

# namespace_target ADDRESS : ../NamespaceTarget.java in the background, until namespace_target_stops; $OUT/serve.log has its log
namespace_target() {
    local to=$OUT/commands from=$OUT/answers
    rm -f "$to" "$from"
    mkfifo "$to" "$from"
    ip netns exec "$NS" sh -c '. "$0/.mvn/find-jdk25"; exec "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED -XX:+UseSerialGC \
        -cp "$0/cli/build/app/lib/*" "$0/interop/NamespaceTarget.java" "$@"' "$TOP" "$1" "$NQN" "$SYSFS" "$PEER/resource2" \
        < "$to" > "$from" 2> "$OUT/serve.log" &
    SERVE_PID=$!
    # Reading too, so that writing to a target that has ended does no harm.
    exec {TO_TARGET}<> "$to" {FROM_TARGET}< "$from"
    answered "done start" || { cat "$OUT/serve.log"; return 1; }
}
# answered TEXT : reads the target's answer into $ANSWER, which begins so
answered() {
    read -r -t 60 -u "$FROM_TARGET" ANSWER || { echo "no answer"; return 1; }
    echo "$ANSWER"
    [[ $ANSWER = "$1"* ]]
}
# tell COMMAND... : and the target does it
tell() { echo "$*" >&"$TO_TARGET" && answered "done $*;"; }
# gave_back : after the command that was answered last no peer memory was held, though it had been used
gave_back() { [[ $ANSWER =~ peer\ memory:\ [1-9][0-9]*\ bytes\ passed,\ 0\ lost,\ 0\ held$ ]] || { echo "$ANSWER"; return 1; }; }
namespace_target_stops() {
    local pid=$SERVE_PID status=0
    echo quit >&"$TO_TARGET"
    answered "done quit" || { status=1; kill "$pid"; }
    SERVE_PID=
    wait "$pid" || status=1
    exec {TO_TARGET}>&- {FROM_TARGET}<&-
    return "$status"
}
# appears DEVICE, vanishes DEVICE : in the guest, within 10 s
appears() { guest "for i in \$(seq 100); do [ -b $1 ] && exit; sleep 0.1; done; ls /dev/nvme*; exit 1"; }
vanishes() { guest "for i in \$(seq 100); do [ -e $1 ] || exit 0; sleep 0.1; done; ls /dev/nvme*; exit 1"; }

case_kernel_host_namespaces() {
    local second=${DEV%1}2
    make_peer
    check "MTU 4200 on both ends" set_mtu 4200
    check "a target of the embedding API is ready on $US" namespace_target "$US"
    check "add namespace 1" tell add 1 mem:64M
    host_connects "$US"
    check "fio with verify begins on namespace 1" guest "fio --name=meanwhile --filename=$DEV --direct=1 --ioengine=libaio --iodepth=2 --rw=randwrite \
        --bsrange=4k-64k --size=16M --verify=crc32c --verify_backlog=16 --verify_fatal=1 --rate_iops=40 --time_based --runtime=600 > /tmp/meanwhile 2>&1 &
        echo \$! > /tmp/meanwhile.pid"

    check "add namespace 2, with peer memory" tell add 2 "mem:64M,p2pmem=$PEER"
    check "$second appears" appears "$second"
    check "fio with verify on it" fio_in_guest "$second" --size=2M
    check "disable namespace 2" tell disable 2
    check "its peer memory was used and is given back" gave_back
    check "$second vanishes" vanishes "$second"
    check "enable namespace 2" tell enable 2
    check "$second appears again" appears "$second"
    check "fio finds on it what it wrote" fio_in_guest "$second" --size=2M --verify_only
    check "fio with verify on it again" fio_in_guest "$second" --size=2M --randseed=8
    check "remove namespace 2" tell remove 2
    check "its peer memory is given back" gave_back
    check "$second vanishes" vanishes "$second"
    check "add another namespace 2" tell add 2 mem:8M
    check "the other $second appears" appears "$second"
    check "its size is the other's" guest "[ \$(cat /sys/block/${second#/dev/}/size) = 16384 ]"
    check "remove that, too" tell remove 2
    check "$second vanishes" vanishes "$second"

    check "fio on namespace 1 went on all the time without an error" guest "pid=\$(cat /tmp/meanwhile.pid); kill -INT \$pid || { cat /tmp/meanwhile; exit 1; }
        for i in \$(seq 100); do [ -d /proc/\$pid ] || break; sleep 0.1; done
        grep -q 'err= 0' /tmp/meanwhile && ! grep -q '^verify' /tmp/meanwhile || { tail -20 /tmp/meanwhile; exit 1; }"
    host_disconnects
    check "the target stops cleanly" namespace_target_stops
}
