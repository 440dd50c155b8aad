#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# health.sh [--drain]: this node's health (stepscale check --local) with the
# codes of Nagios: 0 OK, 1 warning, 2 critical, 3 unknown. Three uses:
#
#   HealthCheckProgram=/path/health.sh  in slurm.conf: Slurm ignores codes, so
#                 give it a wrapper that calls health.sh --drain, which drains
#                 this node when the check is critical
#   Prolog=       0 unless critical: a failing prolog drains the node, and a
#                 warning must not. Known by SLURM_SCRIPT_CONTEXT
#   Nagios        as a plugin
#
# The program is $STEPSCALE, else `stepscale` on PATH.
set -u

drain=0
case ${1:-} in
'') ;;
--drain) drain=1 ;;
*)
    echo "UNKNOWN: health.sh takes no option but --drain"
    exit 3
    ;;
esac
program=${STEPSCALE:-$(command -v stepscale)}
if [ ! -x "$program" ]; then
    echo "UNKNOWN: no program${program:+ at $program}; set STEPSCALE"
    exit 3
fi
text=$(timeout 30 "$program" check --local 2>&1)
printf '%s\n' "$text"
case $text in
OK:*) code=0 ;;
WARNING:*) code=1 ;;
CRITICAL:*) code=2 ;;
*) code=3 ;;
esac
if [ $drain = 1 ] && [ $code = 2 ]; then
    line=${text%%$'\n'*}
    scontrol update "NodeName=${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN \
        "Reason=stepscale: ${line#CRITICAL: }" || exit 3
fi
case ${SLURM_SCRIPT_CONTEXT:-} in prolog_*)
    [ $code = 2 ] && exit 2
    exit 0
    ;;
esac
exit $code
