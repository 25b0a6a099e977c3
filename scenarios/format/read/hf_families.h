// SPDX-License-Identifier: Apache-2.0
// Dense families other than GPT-2's and Llama's (hf_config.h), as far as the keys of a model
// section express them, with errors at fields of a config.json that they do not express.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/read/hf_translator.h"

namespace orrery {

// The families with expressible models.
std::vector<std::string> further_hf_families();

// Whether the family is one of these. The model is then translated, or has errors.
bool translate_further_hf(HfTranslator& to, std::string_view family);

}  // namespace orrery
