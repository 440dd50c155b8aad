/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_COMMANDS_CHECK_H
#define SS_COMMANDS_CHECK_H

#include "health/local.h"

/** This node's facts; $STEPSCALE_SYS stands for /sys in tests. */
enum ss_status ss_check_this_node(struct ss_local *out);

#endif
