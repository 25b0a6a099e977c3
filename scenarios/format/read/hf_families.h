// SPDX-License-Identifier: Apache-2.0
// Families of dense models besides GPT-2 and Llama's (hf_config.h): what of them the keys of a
// model section can say, and which field of a config.json they cannot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/read/hf_translator.h"

namespace orrery {

// The ones of which some models can be said.
std::vector<std::string> further_hf_families();

// Whether the family is one of these; then the model is translated, or has errors.
bool translate_further_hf(HfTranslator& to, std::string_view family);

}  // namespace orrery
