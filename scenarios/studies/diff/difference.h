// SPDX-License-Identifier: Apache-2.0
// The differences of two documents: two scenarios as they are simulated, or two results.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/format/document/document_node.h"

namespace orrery {

// A key whose values differ. A document without the key has no value.
struct Difference {
    std::string key;  // "plan.micro_batch_size", "faults[0].kind"
    std::optional<std::string> before;
    std::optional<std::string> after;

    // after / before - 1, if both are numbers of the same unit and `before` is not zero.
    std::optional<double> change() const;
};

// Every scalar with its path, in order. A list of scalars is one value: "[1, 2]".
std::vector<std::pair<std::string, std::string>> leaves_of(const DocumentNode& document);

// In the order of `before`; keys that only `after` has come last. `left_out`: keys of the first
// level that are not compared.
std::vector<Difference> differences(const DocumentNode& before,
                                    const DocumentNode& after,
                                    const std::vector<std::string_view>& left_out = {});

}  // namespace orrery
