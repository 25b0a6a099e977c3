// SPDX-License-Identifier: Apache-2.0
// Exact answers and the literature's approximations: what policies compute with and what tests
// compare simulations with. All times in seconds. Failures are exponential with mean time between
// them `mtbf`, and may also hit a checkpoint or a restart.
//   segment     T = M e^(R/M) (e^((tau + delta)/M) - 1)
//   optimum     tau = M (1 + W0(-e^(-delta/M - 1))), the root of tau/M + e^-((tau + delta)/M) = 1
//   Young       sqrt(2 delta M)                                           (1974)
//   Daly        sqrt(2 delta M) [1 + sqrt(delta/2M)/3 + (delta/2M)/9] - delta       (2006)
#pragma once

#include <cstdint>
#include <vector>

namespace orrery {

// Expected wall time per committed segment of `interval` seconds of work.
double segment_time_s(double mtbf, double checkpoint, double restart, double interval);
double young_interval_s(double mtbf, double checkpoint);
double daly_interval_s(double mtbf, double checkpoint);
double optimal_interval_s(double mtbf, double checkpoint);

// Kokolis et al. (HPCA 2025): expected effective training time ratio to first order.
double first_order_ettr(double mtbf, double restart, double interval, double write);

// Share of time in which all of `servers` are busy at an offered load (Erlang's loss formula):
// that `servers` - 1 spares are not enough, where failing nodes are out for a while.
double erlang_b(double load, std::uint32_t servers);
// The same with `crew` repairs at a time: a birth-death chain with exponential repairs.
double stall_share(double load, std::uint32_t servers, std::uint32_t crew);
// The smallest k with P(Binomial(n, p) <= k) >= quantile.
std::uint32_t binomial_quantile(std::uint32_t n, double p, double quantile);
// P(no group of `group` nodes is lost as a whole | `lost` of `nodes` are lost at once): GEMINI
// (SOSP 2023), placement in groups.
double group_survival(std::uint32_t nodes, std::uint32_t group, std::uint32_t lost);

// Step time over the healthy one when each of `nodes` is slower by `factor` with probability `p`.
double straggler_factor(double factor, double p, std::uint32_t nodes);
// A flow shop: each of `items` passes all stages in order.
double flow_shop_makespan(const std::vector<double>& stages, std::uint32_t items);

}  // namespace orrery
