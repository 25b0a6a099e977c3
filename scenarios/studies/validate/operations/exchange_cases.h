// SPDX-License-Identifier: Apache-2.0
// Published exchanges of tokens between experts' ranks (the columns of
// catalogue/published/collectives_a2a.csv) beside those of the network model, with one catalogue
// and one table of dispatchers for all rows. A row's bandwidth_kind says which bytes its bandwidth
// divides by the time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/validate/timed_rows.h"

namespace orrery {

struct ExchangeCase {
    std::string name;
    std::string family;
    std::string collective;      // ep_dispatch, ep_combine, all_to_all
    std::string implementation;  // deepep-v1-normal, hybridep, nccl-tests …
    std::string gpu;
    std::uint32_t num_gpus = 0;
    std::uint32_t num_nodes = 0;
    std::string fabric;
    std::int64_t tokens = 0;  // per GPU; 0: a plain all_to_all
    std::int64_t hidden_size = 0;
    std::uint32_t topk = 0;
    std::uint32_t num_experts = 0;
    std::uint32_t server_limit = 0;  // N of "group-limited:N"; 0: none
    bool fp8 = false;
    std::uint32_t sms = 0;
    double bandwidth = 0;        // GB/s
    std::string bandwidth_kind;  // nvlink, rdma-logical, algorithm, busbw
    double time_us = 0;          // 0: computed from the bandwidth
    bool kernel_only = false;    // without host time and the library's own copies
    std::string where;
};

// Whether the first line of the file is the header of a table of exchanges.
bool is_exchange_table(const std::string& file);
ResultOrErrors<std::vector<ExchangeCase>> read_exchange_cases(const std::string& file);
// Bytes of a token's row: BF16, or FP8 with an FP32 scale per 128 values.
std::int64_t row_bytes(const ExchangeCase& row);
// Measured time. The error names the row and why the time is unknown.
Result<double> measured_us(const ExchangeCase& row);
Result<TimedValidation> validate_exchanges(const std::vector<ExchangeCase>& cases,
                                           const std::filesystem::path& catalogue);

}  // namespace orrery
