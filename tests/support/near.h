/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_NEAR_H
#define SS_TESTS_NEAR_H

/* Doubles within an absolute error, shown when they are not (cmocka 1.1.5 has
 * floats only). NaN is near nothing. Include after cmocka.h. */
#include <math.h>

#define assert_near(a, b, error)                                               \
    do {                                                                       \
        double near_a_ = (a), near_b_ = (b);                                   \
        if (!(fabs(near_a_ - near_b_) <= (error)))                             \
            fail_msg("%s = %.17g, expected %.17g", #a, near_a_, near_b_);      \
    } while (0)

#endif
