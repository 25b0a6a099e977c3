// SPDX-License-Identifier: Apache-2.0
// Windows of attention in a Hugging Face config.json (hf_config.h).
#pragma once

#include <string_view>

#include "scenarios/format/read/hf_translator.h"

namespace orrery {

// Translates the window and the layers that have it; num_layers is translated before. Leaves out,
// with a remark, what Transformer::layer_takes_window cannot say.
void translate_hf_windows(HfTranslator& to, std::string_view family);

}  // namespace orrery
