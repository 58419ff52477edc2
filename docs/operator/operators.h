// The operators of docs/adding-an-operator.md.
#pragma once

#include "isomer/operator.h"

/// gate(value, by): value * by / (1 + exp(-beta * by)), broadcast.
isomer::Operator gate();
/// root_mean_square(x, scale): rows of x over the root of their mean square, times scale.
isomer::Operator root_mean_square();
/// moving_average(x): y[t] = (1 - alpha) * y[t - 1] + alpha * x[t] along the first axis, y[-1] = 0.
isomer::Operator moving_average();
