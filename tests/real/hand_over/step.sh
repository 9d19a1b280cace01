#!/bin/sh
# Works like an agent that knows only what it is told: an empty argument is a mistake that it makes again.
# step.sh STAGE PROTECTED PROTECTED EDITED CONSTRAINT CONSTRAINT REASON FINDING FAILED CHANGED OTHERS...
stage=$1 first=$2 second=$3 edited=$4
shift 4
[ -n "$1" ] || echo changed >>"$first"
[ -n "$2" ] || echo changed >>"$second"
[ -n "$3" ] || echo again >>rejected.log
[ -n "$4" ] || echo again >>searched.log
[ -n "$5" ] || echo again >>failed.log
[ -n "$6" ] || echo overwritten >"$edited"
for fact; do
    [ -n "$fact" ] || exit 3
done
echo done >"finished-$stage.txt"
