// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/admission.h"

namespace orrery {

namespace {

class AdmitsWithinObjectives : public AdmissionPolicy {
public:
    AdmitsWithinObjectives(Time first_token, Time output_token)
        : first_token_(first_token), output_token_(output_token) {}
    bool admits(const PredictedLatency& predicted) const override {
        return within(predicted.first_token, first_token_) &&
               within(predicted.output_token, output_token_);
    }

private:
    static bool within(Time predicted, Time objective) {
        return objective == Time{} || predicted <= objective;
    }
    Time first_token_;
    Time output_token_;
};

}  // namespace

std::vector<std::string_view> admission_names() {
    return {"all", "objectives"};
}

std::unique_ptr<AdmissionPolicy> make_admission(std::string_view name,
                                                Time first_token,
                                                Time output_token) {
    return name == "objectives"
               ? std::make_unique<AdmitsWithinObjectives>(first_token, output_token)
               : nullptr;
}

}  // namespace orrery
