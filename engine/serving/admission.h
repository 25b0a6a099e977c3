// SPDX-License-Identifier: Apache-2.0
// Admission of requests: a policy decides by the latency that a request is predicted to have. A
// rejected request is counted and costs nothing further.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

struct PredictedLatency {
    Time first_token;   // from now
    Time output_token;  // mean time between output tokens
};

class AdmissionPolicy {
public:
    virtual ~AdmissionPolicy() = default;
    virtual bool admits(const PredictedLatency& predicted) const = 0;
};

// The names of the policies:
//   all         every request
//   objectives  rejects a request that would miss an objective, before its prompt is computed in
//   vain
//               (early rejection of Mooncake, Qin et al., FAST 2025)
std::vector<std::string_view> admission_names();
// Null for an unknown name, and for `all`, which needs no policy. An objective of zero admits
// everything.
std::unique_ptr<AdmissionPolicy> make_admission(std::string_view name,
                                                Time first_token,
                                                Time output_token);

}  // namespace orrery
