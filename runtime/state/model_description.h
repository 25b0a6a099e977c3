// SPDX-License-Identifier: Apache-2.0
// A transformer's dimensions as text, for files that must name their model. The keys are those of a
// scenario's model section.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"

namespace orrery {

using ModelDescription = std::map<std::string, std::string>;

// All fields except the name.
ModelDescription describe_model(const Transformer& model);
// Error::what names the missing or invalid key; unknown keys are ignored.
Result<Transformer> model_of_description(const ModelDescription& description);

// The differences, each as "hidden_size is 64 there and 32 here".
std::vector<std::string> differences(const ModelDescription& there, const ModelDescription& here);

}  // namespace orrery
