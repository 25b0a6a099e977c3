// SPDX-License-Identifier: Apache-2.0
// Published exchanges of tokens between experts' ranks (the columns of
// catalogue/published/collectives_a2a.csv) beside those of the network model, all rows with one
// catalogue and one table of dispatchers. Rows say what they divided by the time
// (bandwidth_kind), from which their time follows.
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
    std::int64_t tokens = 0;  // of a GPU; 0: a plain all_to_all
    std::int64_t hidden_size = 0;
    std::uint32_t topk = 0;
    std::uint32_t num_experts = 0;
    std::uint32_t server_limit = 0;  // group-limited:N; 0: none
    bool fp8 = false;
    std::uint32_t sms = 0;
    double bandwidth = 0;        // GB/s
    std::string bandwidth_kind;  // nvlink, rdma-logical, algorithm, busbw
    double time_us = 0;          // 0: follows from the bandwidth
    bool kernel_only = false;    // without the host and the library's own copies
    std::string where;
};

// Whether the file's first line is that of a table of exchanges.
bool is_exchange_table(const std::string& file);
ResultOrErrors<std::vector<ExchangeCase>> read_exchange_cases(const std::string& file);
// Bytes of a row: BF16, or FP8 with an FP32 scale for every 128.
std::int64_t row_bytes(const ExchangeCase& row);
// Error: the row's place and why the time cannot be told.
Result<double> measured_us(const ExchangeCase& row);
Result<TimedValidation> validate_exchanges(const std::vector<ExchangeCase>& cases,
                                           const std::filesystem::path& catalogue);

}  // namespace orrery
