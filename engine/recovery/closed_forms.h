// SPDX-License-Identifier: Apache-2.0
// Exact results and the literature's approximations that policies use. All times are in seconds.
// Failures are exponential with mean time M = `mtbf` between them. A checkpoint takes delta. The
// interval tau is the work between two checkpoints.
//   optimum     tau = M (1 + W0(-e^(-delta/M - 1))), the root of tau/M + e^-((tau + delta)/M) = 1
//   Young       sqrt(2 delta M)                                           (1974)
//   Daly        sqrt(2 delta M) [1 + sqrt(delta/2M)/3 + (delta/2M)/9] - delta       (2006)
// A segment is tau seconds of work and its checkpoint. With restarts of R, and failures that may
// also hit a checkpoint or a restart, it takes T = M e^(R/M) (e^((tau + delta)/M) - 1) on average
// (Daly, 2006).
#pragma once

#include <cstdint>

namespace orrery {

double young_interval_s(double mtbf, double checkpoint);
double daly_interval_s(double mtbf, double checkpoint);
double optimal_interval_s(double mtbf, double checkpoint);
double segment_time_s(double mtbf, double checkpoint, double restart, double interval);

// The smallest k with P(Binomial(n, p) <= k) >= quantile.
std::uint32_t binomial_quantile(std::uint32_t n, double p, double quantile);

}  // namespace orrery
