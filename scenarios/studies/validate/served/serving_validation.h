// SPDX-License-Identifier: Apache-2.0
// Published serving measurements beside the predictions of the simulated engines and of the closed
// form (serving_control.h). One mapping of engines, devices and loads serves all rows, without a
// constant of a family. A row that is not expressible is skipped with its reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/studies/validate/served/serving_cases.h"

namespace orrery {

struct ServingMetric {
    std::string case_name;
    std::string family;
    std::string metric;  // "ttft_s", "tpot_s", "e2e_s", "output_tokens_per_s"
    double measured = 0;
    double predicted = 0;
    double control = 0;
    double error() const { return predicted / measured - 1; }
    double control_error() const { return control / measured - 1; }
};

struct SkippedServingCase {
    std::string case_name;
    std::string family;
    std::string reason;
};

struct ServingFamilyError {
    std::string family;  // empty: mean over the families
    std::string metric;
    std::size_t rows = 0;
    double median = 0;  // of the absolute errors
    double bias = 0;    // median of the signed errors
    double control_median = 0;
};

struct ServingValidation {
    std::vector<ServingMetric> rows;
    std::vector<SkippedServingCase> skipped;
    std::vector<ServingFamilyError> families;  // one per family and metric
    // Means over families of their medians, one per metric.
    std::vector<ServingFamilyError> balanced;
};

struct ServingValidationOptions {
    std::filesystem::path catalogue;
    std::filesystem::path traces;  // folder of recorded requests, for rows whose load is a trace
    std::uint32_t jobs = 0;        // rows in parallel; 0: one per core
    std::function<void(double)> progress{};
};

ServingValidation validate_serving(const std::vector<ServingCase>& cases,
                                   const std::vector<PublishedModel>& models,
                                   const ServingValidationOptions& options);

}  // namespace orrery
