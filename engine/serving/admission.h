// SPDX-License-Identifier: Apache-2.0
// Which requests are served at all: a policy object that sees what a request would meet. What it
// turns away is counted, and costs nothing more.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

struct PredictedLatency {
    Time first_token;   // from now
    Time output_token;  // while it generates
};

class AdmissionPolicy {
public:
    virtual ~AdmissionPolicy() = default;
    virtual bool admits(const PredictedLatency& predicted) const = 0;
};

// The names of the policies:
//   all         every request
//   objectives  none that would miss an objective (early rejection of Mooncake, Qin et al., FAST
//               2025): before its prompt is computed for nothing
std::vector<std::string_view> admission_names();
// Null if there is none of that name, and for `all`, which asks nothing. Objectives of zero allow
// everything.
std::unique_ptr<AdmissionPolicy> make_admission(std::string_view name,
                                                Time first_token,
                                                Time output_token);

}  // namespace orrery
