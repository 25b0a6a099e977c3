// SPDX-License-Identifier: Apache-2.0
// libFuzzer target of the scenario reader: any bytes are a scenario file, a config.json and an
// override. Errors must name a place; nothing may crash, hang or assert.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "scenarios/format/document/json_document.h"
#include "scenarios/format/read/hf_config.h"
#include "scenarios/format/read/reader.h"

namespace {

void require_places(const orrery::Errors& errors) {
    for (const orrery::Error& error : errors) {
        if (error.where.empty() || error.what.empty()) {
            std::abort();
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text{reinterpret_cast<const char*>(data), size};
    orrery::ReadOptions options;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    const auto scenario = orrery::read_scenario_text(text, "fuzz.yaml", "/nowhere", options);
    if (!scenario) {
        require_places(scenario.error());
    }
    // The first line is an override of an otherwise good scenario.
    options.overrides = {text.substr(0, text.find('\n'))};
    const auto overridden = orrery::read_scenario_text(
        "cluster: {nodes: 1, node: dgx-h100}\nmodel: llama-3-8b\n"
        "plan: {micro_batch_size: 1, global_batch_size: 8}\n",
        "good.yaml",
        "/nowhere",
        options);
    if (!overridden) {
        require_places(overridden.error());
    }
    if (const auto json = orrery::parse_json(text, "fuzz.json"); json) {
        if (const auto model = orrery::model_of_hf_config(*json); !model) {
            require_places(model.error());
        }
    } else {
        require_places(json.error());
    }
    return 0;
}
