// SPDX-License-Identifier: Apache-2.0
// The model of a config.json that has no errors.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/format/document/json_document.h"
#include "scenarios/format/read/hf_config.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {

inline Transformer hf_model(const std::string& json) {
    auto config = parse_json(json, "config.json");
    EXPECT_TRUE(config) << config.error().front().to_string();
    auto section = model_of_hf_config(*config);
    EXPECT_TRUE(section) << section.error().front().to_string();
    Transformer model;
    Errors errors;
    std::vector<std::string> remarks;
    read_model(section->section, Catalogue{"/nowhere"}, ".", model, remarks, errors);
    EXPECT_TRUE(errors.empty()) << errors.front().to_string();
    return model;
}

}  // namespace orrery
