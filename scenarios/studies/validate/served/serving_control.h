// SPDX-License-Identifier: Apache-2.0
// The control of predicted serving: a closed form with one set of constants for all rows, fitted on
// none of them. A step lasts as long as the slower of memory and tensor cores, plus collectives and
// a fixed time; the batch is what the load and the cache allow. A simulator that is not clearly
// better has said nothing.
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

// `nvlink`: the GPUs of a server reach each other over NVLink rather than PCIe.
ServedFigures closed_form(const ServingCase& row,
                          const Transformer& model,
                          const DeviceSpec& device,
                          bool nvlink);

// Experts of a layer that `tokens` tokens reach when all are equally likely: E (1 - (1 - k/E)^t).
double experts_reached(std::int64_t experts, std::int64_t topk, double tokens);

}  // namespace orrery
