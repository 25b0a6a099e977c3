// SPDX-License-Identifier: Apache-2.0
// The parameters of the general efficiency curves (kernels/efficiency.h), one a row of
// scenarios/catalogue/kernel_efficiency.csv:
//   1. name        "gemm.asymptote"; documented at the member that it sets
//   2. generation  of the device: volta, ampere, hopper, blackwell, cpu, or * for all
//   3. dtype       fp16 (also for bf16), fp8, fp32, or * for all
//   4. value
//   5. sigma       relative standard deviation of the value
//   6. source      "fit: layers.csv", "rule: as hopper"; no commas
// The fit (kernels/fit.h) writes the file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "engine/base/result.h"
#include "engine/program/kernel_call.h"

namespace orrery {

struct EfficiencyParameter {
    double value = 0;
    double sigma = 0;
    std::string source;
    bool operator==(const EfficiencyParameter&) const = default;
};

class EfficiencyTable {
public:
    using Key = std::tuple<std::string, std::string, std::string>;  // name, generation, dtype

    void set(std::string_view name,
             std::string_view generation,
             std::string_view dtype,
             EfficiencyParameter parameter);
    // The most specific row: (generation, dtype), (generation, *), (*, dtype), (*, *).
    const EfficiencyParameter* find(std::string_view name,
                                    std::string_view generation,
                                    std::string_view dtype) const;
    double value_or(std::string_view name,
                    std::string_view generation,
                    std::string_view dtype,
                    double fallback) const;
    const std::map<Key, EfficiencyParameter>& rows() const { return rows_; }
    bool operator==(const EfficiencyTable&) const = default;

private:
    std::map<Key, EfficiencyParameter> rows_;
};

// "fp16", "fp8" or "fp32".
std::string_view dtype_class(Dtype dtype);

ResultOrErrors<EfficiencyTable> read_efficiency_table(const std::string& path);
// The file's text, which starts with the lines of `comment`, each after a #.
std::string efficiency_table_csv(const EfficiencyTable& table, const std::string& comment);

}  // namespace orrery
