// SPDX-License-Identifier: Apache-2.0
// A transformer's dimensions as words, for files that must know which model they are of: keys as in
// a scenario's model section.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"

namespace orrery {

using ModelDescription = std::map<std::string, std::string>;

// Everything but the name.
ModelDescription describe_model(const Transformer& model);
// Error::what says which key is missing or wrong; others are ignored.
Result<Transformer> model_of_description(const ModelDescription& description);

// What differs, each as "hidden_size is 64 there and 32 here".
std::vector<std::string> differences(const ModelDescription& there, const ModelDescription& here);

}  // namespace orrery
