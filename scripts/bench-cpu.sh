#!/bin/bash
# Prints the processor for which `make bench-local-model` builds the local model and its peer: this machine's own.
#
# Some virtual machines list AMX and kill a program that uses it. There, both are built for the generation before AMX.
set -euo pipefail
if grep -qs amx_tile /proc/cpuinfo; then echo icelake-server; else echo native; fi
