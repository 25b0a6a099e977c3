// SPDX-License-Identifier: Apache-2.0
// The control of predicted serving: a closed form with one set of constants for all rows, fitted to
// none of them. A step takes the longer of memory and compute time, plus collectives and a fixed
// time. Load and cache bound the batch. A useful simulator must clearly beat it.
#pragma once

#include "kernels/device_spec.h"
#include "models/transformer/transformer.h"
#include "scenarios/studies/validate/served/serving_cases.h"

namespace orrery {

struct ServedFigures {
    double ttft_s = 0;
    double tpot_s = 0;
    double e2e_s = 0;
    double output_tokens_per_s = 0;  // of all replicas
};

// `nvlink`: the GPUs of a server are connected by NVLink rather than PCIe.
ServedFigures closed_form(const ServingCase& row,
                          const Transformer& model,
                          const DeviceSpec& device,
                          bool nvlink);

// Expected number of a layer's experts that `tokens` tokens reach if all are equally likely: E (1 -
// (1 - k/E)^t).
double experts_reached(std::int64_t experts, std::int64_t topk, double tokens);

}  // namespace orrery
