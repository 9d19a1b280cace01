#!/bin/bash
# Says for which processor the local model and its peer are built by `make bench-local-model`: this machine's own.
#
# Some virtual machines list AMX and end a program that uses it. There it is the generation before AMX, for both.
set -euo pipefail
if grep -qs amx_tile /proc/cpuinfo; then echo icelake-server; else echo native; fi
